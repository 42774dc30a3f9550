import type { Places } from '../lake/generation.ts'
import type { ServedTable } from '../lake/serving.ts'
import type { Duck } from '../store/duckdb.ts'
import { amongSegments } from './among.ts'
import { anySet, maskOf, type Place, placeOf } from './dialect/duckdb/bits.ts'
import type { SegmentRow } from './evaluate.ts'
import { parted } from './plan.ts'

/*
 * The memberships of a customer as words, in which each is a bit at the place of its segment. A base has them beside its
 * members: to read these of 1M customers takes 20 ms of CPU, to group the 11M rows that they stand for 900.
 */

/** Which words there are, and where in them each segment is. */
export interface Layout {
  places: ReadonlyMap<number, Place>
  words: readonly number[]
}

/** Of segments some of which have a place already: the nth. */
export function layoutOf(
  segments: readonly { ordinal: number }[],
  known: ReadonlyMap<number, number> = new Map(),
): Layout {
  let free = Math.max(-1, ...known.values()) + 1
  const places = new Map(segments.map(({ ordinal }) => [ordinal, placeOf(known.get(ordinal) ?? free++)]))
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

const WORDS = 'member_words'
const PLACES = 'member_places'

/** What a base has beside its members, which are there already. */
export async function wordTables(duck: Duck, members: string): Promise<ServedTable[]> {
  const segments = await duck.rows<{ ordinal: number }>(
    `select distinct segment as ordinal from ${members} order by segment`,
  )
  if (segments.length === 0) return []
  const layout = layoutOf(segments)
  const places = segments.map(({ ordinal }, n) => `(${Math.trunc(ordinal)}, ${n})`)
  const words = layout.words.map((word) => `bit_or(${nameOf(word)}) as ${nameOf(word)}`)
  return [
    { name: PLACES, select: `from (values ${places.join(', ')}) as places (segment, place)` },
    {
      name: WORDS,
      select: `select ${['customer', ...words].join(', ')} from (${rowWords(members, layout)}) group by customer`,
    },
  ]
}

/** What is published of members, where a generation is attached. */
export interface PublishedMembers {
  places: Places
  /** Segments that were evaluated over the data that the last refresh read. */
  fresh: readonly SegmentRow[]
}

/**
 * Words of the members of some segments as they are published and, of those that are not fresh, as a relation `lake` has
 * them. Null where they would have to be made of rows.
 */
export async function publishedWords(
  duck: Duck,
  { places, fresh }: PublishedMembers,
  lake: string,
  segments: readonly SegmentRow[],
): Promise<{ layout: Layout; parts: string[] } | null> {
  const [members, words, listed] = ['members', WORDS, PLACES].map((name) => places.get(name))
  if (!members || !words || !listed) return null
  const rows = await duck.rows<{ segment: number; place: number }>(`from ${listed.everyone}`)
  const known = new Map(rows.map(({ segment, place }) => [segment, place]))
  const layout = layoutOf(segments, known)
  const isFresh = new Set(fresh.map(({ ordinal }) => ordinal))
  const [ofPublished, ofLake] = parted(segments, ({ ordinal }) => isFresh.has(ordinal))
  const ofBase = ofPublished.flatMap(({ ordinal }) =>
    known.has(ordinal) ? (layout.places.get(ordinal) ?? []) : [],
  )
  const masked = layout.words.map((word) => {
    const mask = maskOf(ofBase.filter((place) => place.word === word))
    return mask ? `${nameOf(word)} & ${mask} as ${nameOf(word)}` : `0::bigint as ${nameOf(word)}`
  })
  const { changes } = members
  const unchanged = changes ? `anti join ${changes.replaced} using (customer)` : ''
  const parts = [
    `select ${['customer', ...masked].join(', ')} from ${words.everyone} ${unchanged} where ${anySet(nameOf, ofBase)}`,
  ]
  if (changes) parts.push(rowWords(`(from ${changes.rows} where ${amongSegments(ofPublished)})`, layout))
  if (ofLake.length) parts.push(rowWords(`(from ${lake} where ${amongSegments(ofLake)})`, layout))
  return { layout, parts }
}
