import { shown } from '../segment/complaint.ts'
import { type Piece, piecesOf, said, TOKEN, type Values, variablesIn } from './template.ts'
import { LINKS, tokenOf } from './variable.ts'

/**
 * An address ends where one written in ASCII would, and where a text goes on without a space: with a sign of punctuation,
 * or in a script that puts none between words. What stands behind it, such as how to opt out, is no part of it. Its
 * variables are.
 */
const SIGN =
  /[\w.~:/?#[\]@!$&()*+,;=%-]|(?![\p{scx=Hani}\p{scx=Hira}\p{scx=Kana}\p{scx=Hang}\p{scx=Thai}\p{scx=Laoo}\p{scx=Khmr}\p{scx=Mymr}\uff00-\uffef])[\p{L}\p{M}\p{N}]/u
const WITHIN = `(?:${TOKEN.source}|${SIGN.source})+`
/** First a token by itself: what is said where it is missing is no part of the template. */
const ADDRESS = new RegExp(`${TOKEN.source}|https://${WITHIN}`, 'gu')
const BEHIND = new RegExp(WITHIN, 'uy')

/** Punctuation that ends a sentence belongs to the sentence. */
const withoutEnd = (written: string): string => written.replace(/[.,;:!?)\]]+$/, '')

/** The pieces of a template, with its addresses as they are written there. */
export function partsOf(template: string): (Piece | { address: string })[] {
  const parts: (Piece | { address: string })[] = []
  let from = 0
  for (const { 0: found, index } of template.matchAll(ADDRESS)) {
    if (found.startsWith('{{')) continue
    const address = withoutEnd(found)
    parts.push(...piecesOf(template.slice(from, index)), { address })
    from = index + address.length
  }
  return [...parts, ...piecesOf(template.slice(from))]
}

/** An address with its values, percent-encoded; null where they can have no place in it. */
export function addressWith(address: string, values: Values): string | null {
  if (faultOf(address) !== null) return null
  const written = (piece: Piece) =>
    'text' in piece
      ? piece.text
      : encodeURIComponent((said(values[piece.variable]) || piece.fallback).toWellFormed())
  return piecesOf(address).map(written).join('')
}

/** What of a template would become an address that leads nowhere; null: nothing. */
export function deadAddressIn(template: string): string | null {
  for (const { 0: token, index } of template.matchAll(TOKEN)) {
    const link = linkIn(token)
    if (link === undefined) continue
    BEHIND.lastIndex = index + token.length
    const behind = withoutEnd(BEHIND.exec(template)?.[0] ?? '')
    if (behind !== '')
      return `${shown(behind)} behind ${tokenOf(link)} would become part of the link, which then leads nowhere: put a space between, or write an address of its own`
  }
  const faults = partsOf(template).map((part) => ('address' in part ? faultOf(part.address) : null))
  return faults.find((fault) => fault !== null) ?? null
}

const linkIn = (text: string): string | undefined =>
  variablesIn(text).find((name) => Object.hasOwn(LINKS, name))

const HOST = /^https:\/\/[^/?#{]+[/?#]/

/** Why an address cannot work with its variables. */
function faultOf(address: string): string | null {
  const link = linkIn(address)
  if (link !== undefined)
    return `${shown(address)}: ${tokenOf(link)} is a whole link and stands in no other address`
  return variablesIn(address).length === 0 || HOST.test(address)
    ? null
    : `${shown(address)}: a variable stands in an address behind its host only, as in https://shop.example/{{name}}`
}
