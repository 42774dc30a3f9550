import { atomsOf, type Formula } from '../../formula.ts'
import { maskOf, type Place, placeOf, wordsOf } from './bits.ts'
import { answer, columns, PROFILES } from './since.ts'
import { all, any } from './spell.ts'

/** A table with one row per customer at most, false for who has none, and the atoms that its columns answer. */
export interface Answers {
  name: string
  answers: readonly number[]
}

/**
 * One row per possible member with a flag for each formula. What tables say is one join of their bits: for 100 segments
 * of four conditions, found by 20 passes, a third of the CPU that a join of each takes.
 */
export function flagsSql(
  flags: readonly { name: string; formula: Formula }[],
  found: readonly Answers[],
): string {
  const atoms = new Set(flags.flatMap(({ formula }) => atomsOf(formula)))
  const tables = found.filter(({ name }) => name !== PROFILES)
  const asked = tables.flatMap(({ answers }) => answers.filter((id) => atoms.has(id)))
  const places = new Map(asked.map((id, n) => [id, placeOf(n)]))
  const selected = flags.map(({ name, formula }) => `${formulaSql(formula, places)} as ${name}`)
  return `select ${columns(['customer', ...selected])}\nfrom ${places.size ? withBits(tables, places) : PROFILES}`
}

type Places = ReadonlyMap<number, Place>

const word = (n: number): string => `w${n}`

/** The profiles with the bits of what other tables say. */
function withBits(tables: readonly Answers[], places: Places): string {
  const words = [...new Set([...places.values()].map((place) => place.word))]
  const selects = tables.flatMap(({ name, answers }) => {
    const bits = answers.flatMap((id) => {
      const place = places.get(id)
      return place ? { ...place, holds: answer(id) } : []
    })
    const named = [...Map.groupBy(bits, (place) => place.word)].map(
      ([n, same]) => `${wordsOf(same, [n])} as ${word(n)}`,
    )
    return named.length ? `select ${['customer', ...named].join(', ')} from ${name}` : []
  })
  const of = (spelled: (name: string) => string) => words.map((n) => `${spelled(word(n))} as ${word(n)}`)
  return [
    '(',
    `  select ${columns([`${PROFILES}.*`, ...of((name) => `coalesce(joined.${name}, 0)`)], '    ')}`,
    `  from ${PROFILES}`,
    '  left join (',
    `    select ${columns(['customer', ...of((name) => `bit_or(${name})`)], '      ')}`,
    `    from (\n${selects.join('\nunion all by name\n')}\n    )`,
    '    group by customer',
    `  ) as joined on joined.customer = ${PROFILES}.customer`,
    ')',
  ].join('\n')
}

/** Never NULL. */
function formulaSql(formula: Formula, places: Places): string {
  switch (formula.is) {
    case 'atom': {
      const place = places.get(formula.id)
      return place ? `(${word(place.word)} & ${place.mask}) != 0` : `coalesce(${answer(formula.id)}, false)`
    }
    case 'not':
      return `not (${formulaSql(formula.part, places)})`
    case 'and':
      return all(partsSql(formula.parts, places, (bits, mask) => `(${bits} & ${mask}) = ${mask}`))
    case 'or':
      return any(partsSql(formula.parts, places, (bits, mask) => `(${bits} & ${mask}) != 0`))
  }
}

/** Bits of one word are tested at once. */
function partsSql(
  parts: readonly Formula[],
  places: Places,
  test: (bits: string, mask: bigint) => string,
): string[] {
  const placed = parts.map((part) => ({ part, place: part.is === 'atom' ? places.get(part.id) : undefined }))
  const bits = placed.flatMap(({ place }) => place ?? [])
  const tests = [...Map.groupBy(bits, (place) => place.word)].map(([n, same]) => test(word(n), maskOf(same)))
  return [...tests, ...placed.flatMap(({ part, place }) => (place ? [] : formulaSql(part, places)))]
}
