import type { Statements } from '../op.ts'
import { isWebAddress } from './definition.ts'
import type { Text } from './headline.ts'
import { type LinkKind, type LinkPlace, shorten } from './link.ts'
import { piecesOf, render, type Values } from './template.ts'
import { CHECKOUT_URL, OPT_OUT_LINK, tokenOf } from './variable.ts'

/** What a message is written from: the templates of its text. */
export interface Draft extends Text {
  /** Of variables that are no links. */
  values: Values
  /** Where the links lead. */
  cart: string
  checkout: string
}

const LINKS: Readonly<Record<string, LinkKind>> = {
  'cart.link': 'cart',
  [CHECKOUT_URL]: 'checkout',
  [OPT_OUT_LINK]: 'opt_out',
}
/**
 * An address ends where one written in ASCII would, and where a text goes on without a space: with a sign of punctuation,
 * or in a script that puts none between words. What stands behind it, such as how to opt out, is no part of it.
 */
const ADDRESS =
  /https:\/\/(?:[\w.~:/?#[\]@!$&()*+,;=%-]|(?![\p{scx=Hani}\p{scx=Hira}\p{scx=Kana}\p{scx=Hang}\p{scx=Thai}\p{scx=Laoo}\p{scx=Khmr}\p{scx=Mymr}\uff00-\uffef])[\p{L}\p{M}\p{N}])+/gu

/**
 * The text of a message, within the transaction that writes it: variables get their values, its links and the
 * addresses in its templates are shortened, each once. What values bring along stays as it is.
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
  const written = async (template: string): Promise<string> => {
    const parts: string[] = []
    for (const piece of piecesOf(template)) {
      if ('text' in piece) parts.push(await shortened(piece.text, (url) => short('url', url)))
      else {
        const kind = LINKS[piece.variable]
        const token = `${tokenOf(`${piece.variable}|${piece.fallback}`)}`
        parts.push(kind ? await short(kind, targets[kind] ?? null) : render(token, values))
      }
    }
    return parts.join('')
  }
  return { headline: headline && (await written(headline)).trim(), body: await written(body) }
}

/** A text with its addresses shortened; punctuation that ends a sentence belongs to the sentence. */
async function shortened(text: string, short: (url: string) => Promise<string>): Promise<string> {
  let after = ''
  let from = 0
  for (const { 0: found, index } of text.matchAll(ADDRESS)) {
    const url = found.replace(/[.,;:!?)\]]+$/, '')
    if (!isWebAddress(url)) continue
    after += text.slice(from, index) + (await short(url))
    from = index + url.length
  }
  return after + text.slice(from)
}
