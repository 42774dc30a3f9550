/** Levels of nesting; recursion over a parsed body is safe below it. */
export const MAX_DEPTH = 64
/**
 * Values of one body. A megabyte can hold half a million, which take a quarter of a second to parse and to check; the
 * largest that anybody means, the rule of a segment with all its lists, has 50,000.
 */
const MAX_VALUES = 60_000
/**
 * Names of members in one body. Sixty thousand that differ hold up everybody for 60 ms, over MCP for 300; so many for 4 to
 * 12 ms, over MCP for 16 to 24. What anybody may mean has less: a rule of a hundred conditions, each within seven `not`
 * that name their source, 2,200, and 64 KB of a provider's matchers 4,300.
 */
const MAX_NAMES = 5_000

const QUOTE = 0x22
const COMMA = 0x2c
const COLON = 0x3a
const BACKSLASH = 0x5c
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d]

/** Why JSON text is more than a body may be, before anything is made of it; null for what may be parsed. */
export function sizeProblem(
  bytes: Uint8Array,
  { maxDepth = MAX_DEPTH, maxNames = MAX_NAMES } = {},
): string | null {
  let values = 1
  let names = 0
  let depth = 0
  let isText = false
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at]
    if (isText) {
      if (byte === BACKSLASH) at++
      else if (byte === QUOTE) isText = false
    } else if (byte === QUOTE) isText = true
    else if (byte === COMMA) values++
    else if (byte === COLON) names++
    else if (byte === OPEN_LIST || byte === OPEN_OBJECT) {
      values++
      if (++depth > maxDepth) return `The body must be at most ${maxDepth} levels deep`
    } else if (byte === CLOSE_LIST || byte === CLOSE_OBJECT) depth--
  }
  if (names > maxNames) return `The body must have at most ${maxNames} names`
  return values > MAX_VALUES ? `The body must have at most ${MAX_VALUES} values` : null
}
