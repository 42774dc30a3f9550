import { type Place, placeOf } from './dialect/duckdb/bits.ts'

/** The memberships of a customer as words: which there are, and where in them each segment is. */
export interface Layout {
  places: ReadonlyMap<number, Place>
  words: readonly number[]
}

export function layoutOf(segments: readonly { ordinal: number }[]): Layout {
  const places = new Map(segments.map(({ ordinal }, n) => [ordinal, placeOf(n)]))
  return { places, words: [...new Set([...places.values()].map(({ word }) => word))] }
}

export const nameOf = (word: number): string => `word_${word}`

/** Words of a relation (segment, customer, …): as many rows of a customer as it has. */
export function rowWords(rows: string, { places, words }: Layout): string {
  const bits = [...places].map(([ordinal, { word, mask }]) => {
    const all = words.map((each) => `${each === word ? mask : 0}::bigint`)
    return `(${[Math.trunc(ordinal), ...all].join(', ')})`
  })
  const names = words.map(nameOf)
  return `select ${['customer', ...names].join(', ')} from ${rows}
    join (values ${bits.join(', ')}) as bits (${['segment', ...names].join(', ')}) using (segment)`
}
