import type { Statements } from '../op.ts'
import { addressWith, partsOf } from './address.ts'
import { isWebAddress } from './definition.ts'
import type { Text } from './headline.ts'
import { type LinkKind, type LinkPlace, shorten } from './link.ts'
import { type Piece, piecesOf, render, type Values } from './template.ts'
import { LINKS, tokenOf } from './variable.ts'

/** What a message is written from: the templates of its text. */
export interface Draft extends Text {
  /** Of variables that are no links. */
  values: Values
  /** Where the links lead. */
  cart: string
  checkout: string
}

/**
 * The text of a message, within the transaction that writes it: variables get their values, its links and the
 * addresses in its templates, with the variables in them, are shortened, each once. What else values bring along stays as
 * it is.
 */
export async function compose(
  tx: Pick<Statements, 'run'>,
  { headline, body, values, cart, checkout }: Draft,
  place: LinkPlace,
  baseUrl: string,
): Promise<Text> {
  const made = new Map<string, string>()
  const short = async (kind: LinkKind, url: string | null): Promise<string> => {
    const key = `${kind} ${url}`
    const link = made.get(key) ?? (await shorten(tx, place, { kind, url }, baseUrl))
    made.set(key, link)
    return link
  }
  const targets: Partial<Record<LinkKind, string>> = { cart, checkout }
  const ofPiece = async (piece: Piece): Promise<string> => {
    if ('text' in piece) return piece.text
    const kind = LINKS[piece.variable]
    return kind
      ? await short(kind, targets[kind] ?? null)
      : render(tokenOf(`${piece.variable}|${piece.fallback}`), values)
  }
  const ofAddress = async (address: string): Promise<string> => {
    const url = addressWith(address, values)
    if (url !== null && isWebAddress(url)) return await short('url', url)
    return (await Promise.all(piecesOf(address).map(ofPiece))).join('')
  }
  const written = async (template: string): Promise<string> => {
    const parts: string[] = []
    for (const part of partsOf(template))
      parts.push(await ('address' in part ? ofAddress(part.address) : ofPiece(part)))
    return parts.join('')
  }
  return { headline: headline && (await written(headline)).trim(), body: await written(body) }
}
