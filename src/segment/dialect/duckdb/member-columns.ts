import { type Place, wordsOf } from './bits.ts'

/** Who the members of a segment are: the rows of a table for which a column holds. Each customer has one row at most. */
export interface MemberColumn {
  ordinal: number
  table: string
  holds: string
}

/** A row (segment, customer) per membership. */
export function memberRows(columns: readonly MemberColumn[]): string {
  const rows = columns.map(
    ({ ordinal, table, holds }) =>
      `select ${Math.trunc(ordinal)}::INTEGER as segment, customer from ${table} where ${holds}`,
  )
  return rows.join('\nunion all\n') || 'select null::INTEGER as segment, null::INTEGER as customer limit 0'
}

/** Words of customers, of each as many rows as tables have it: a membership is the bit at the place of its segment. */
export function memberWords(
  columns: readonly MemberColumn[],
  { places, words }: { places: ReadonlyMap<number, Place>; words: readonly number[] },
): string[] {
  return [...Map.groupBy(columns, ({ table }) => table)].map(([table, same]) => {
    const bits = same.flatMap(({ ordinal, holds }) => {
      const place = places.get(ordinal)
      return place ? { holds, ...place } : []
    })
    const any = same.map(({ holds }) => holds).join(' or ')
    return `select ${['customer', ...wordsOf(bits, words)].join(', ')} from ${table} where ${any}`
  })
}

/** A row (segment, members) per segment. */
export function memberCounts(columns: readonly MemberColumn[]): string {
  const rows = [...Map.groupBy(columns, ({ table }) => table)].map(([table, same]) => {
    const [segments, counts] = [
      same.map(({ ordinal }) => Math.trunc(ordinal)),
      same.map(({ holds }) => `count_if(${holds})`),
    ]
    return `select unnest([${segments.join(', ')}]) as segment, unnest([${counts.join(', ')}])::bigint as members from ${table}`
  })
  return rows.join('\nunion all\n') || 'select null::INTEGER as segment, null::BIGINT as members limit 0'
}
