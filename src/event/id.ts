/** What senders write where they have no id, in lower case. Guests who share one would be one customer. */
export const NO_IDS = [
  'null',
  'undefined',
  'none',
  'nan',
  'nil',
  '\\n',
  '0',
  '-1',
  'anonymous',
  'guest',
  '[object object]',
]
/** The longest of them: what is longer need not be looked up. */
export const LONGEST_NO_ID = Math.max(...NO_IDS.map(({ length }) => length))
/** The same of those with a digit, which most ids have. */
export const LONGEST_NO_ID_OF_DIGITS = Math.max(
  ...NO_IDS.filter((word) => /\d/.test(word)).map(({ length }) => length),
)

/** How stores write ids in their own APIs: with what it is an id of before it. */
export const GLOBAL_ID = /^gid:\/\/[^?]*\/([^/?]+)/
export const GLOBAL_CUSTOMER = /^gid:\/\/[^/]+\/[Cc]ustomer\//

/** A whole number as columns of floating-point numbers are written to files: 990001.0. */
export const WHOLE = /^(\d+)\.0+$/

/** A store's id as it is stored: the last part of `gid://shopify/Order/1`, else the text itself. */
export function storeIdOf(text: string): string {
  const id = text.trim()
  return GLOBAL_ID.exec(id)?.[1] ?? id
}

/** A customer's id in that form; undefined for any other text. */
export const customerIdOf = (text: string): string | undefined =>
  GLOBAL_CUSTOMER.test(text.trim()) ? storeIdOf(text) : undefined

/** Whether it says to be of something else than a customer: an order's digits can be a customer's. */
export function isOfAnotherKind(text: string): boolean {
  const id = text.trim()
  return GLOBAL_ID.test(id) && !GLOBAL_CUSTOMER.test(id)
}

export const isNoId = (text: string): boolean => NO_IDS.includes(storeIdOf(text).toLowerCase())
