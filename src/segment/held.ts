import type { Session } from '../lake/session.ts'
import { type Model, upstreamOf } from '../model/graph.ts'
import type { Duck } from '../store/duckdb.ts'
import type { AskedRows } from './asked.ts'
import { rowsNamed } from './catalog.ts'
import { isAsked } from './dialect/duckdb/asked.ts'
import { anySet, type Place, packed, placeOf } from './dialect/duckdb/bits.ts'
import { universe } from './dialect/duckdb/spell.ts'
import type { SegmentRow } from './evaluate.ts'
import { columnsIn } from './expression.ts'
import { atomsOf, type Formula } from './formula.ts'
import { linesOf } from './lines.ts'
import { openTouchedMembers } from './members.ts'
import { narrow } from './narrow.ts'
import type { Plan } from './plan.ts'
import { passedBetween, slicesOfProfiles } from './slices.ts'
import { together } from './together.ts'
import { restrict } from './touched.ts'
import { type Asks, planOf } from './way.ts'

interface AskedSegment extends Place {
  /** The staging models whose rows its members follow from, and how many days of each. */
  reads: ReadonlyMap<string, number>
}

/** Memberships that are looked at anew; those of all other touched customers hold. */
export interface Asked {
  /** Segments that this is true of anyone's membership of, by their ordinals. */
  segments: ReadonlyMap<number, AskedSegment>
  memberships: number
}

/** Finds out whose memberships of what are looked at anew, and opens what they follow from. */
export async function ask(
  { duck, beside, asOf }: Session,
  { plan, rows, from, roots, places, stale, skipped }: Asks,
  due: readonly SegmentRow[],
  models: readonly Model[],
): Promise<Asked> {
  // To ask is the work of one thread.
  const asked = await together(
    openAsked(duck, plan, due, rows, { from, asOf, skipped }),
    openTouchedMembers(beside, places, stale),
  )
  const anew = planOf(due.filter(({ ordinal }) => asked.segments.has(ordinal)))
  if (!anew) return asked
  const segments = [...asked.segments.values()]
  const mostNeed = await daysMostNeed(duck, segments)
  const restrictTo = async (relation: string, olderThan: number) => {
    const to = `asked_of_${relation}`
    const theirs = segments.filter(({ reads }) => (reads.get(relation) ?? 0) > olderThan)
    await duck.run(`create or replace table ${to} as select customer from asked where ${anyAsked(theirs)}`)
    const read = upstreamOf([relation], models)
    await restrict(
      duck,
      roots.filter((root) => read.includes(root)),
      to,
      'touched_redirects',
    )
  }
  const narrowing = {
    duck,
    models,
    asOf,
    restrict: restrictTo,
    mostNeed: (name: string) => mostNeed.get(name),
  }
  await narrow(narrowing, anew)
  return asked
}

/** Where older rows are needed of few of the customers, what is needed of all others. */
const FEW = 0.1

/** The days of each staging model beyond which few of the customers who are looked at need its rows. */
async function daysMostNeed(duck: Duck, segments: readonly AskedSegment[]): Promise<Map<string, number>> {
  const relations = [...new Set(segments.flatMap(({ reads }) => [...reads.keys()]))]
  const limits = relations.flatMap((relation) => {
    const days = segments.flatMap(({ reads }) => reads.get(relation) ?? [])
    return [...new Set([0, ...days])].sort((a, b) => a - b).map((limit) => ({ relation, limit }))
  })
  if (limits.length === 0) return new Map()
  const counts = limits.map(({ relation, limit }, n) => {
    const older = segments.filter(({ reads }) => (reads.get(relation) ?? 0) > limit)
    return `count_if(${anyAsked(older)})::bigint as n${n}`
  })
  const [row = {}] = await duck.rows<Record<string, number>>(`select ${counts.join(', ')} from asked`)
  const needed = limits.map((each, n) => ({ ...each, customers: row[`n${n}`] ?? 0 }))
  return new Map(
    [...Map.groupBy(needed, ({ relation }) => relation)].flatMap(([relation, ofEach]) => {
      const all = ofEach[0]?.customers ?? 0
      const found = ofEach.find(({ customers }) => customers <= FEW * all)
      return found ? [[relation, found.limit] as const] : []
    }),
  )
}

interface Between extends Pick<Asks, 'from' | 'skipped'> {
  asOf: Date
}

/** Whether a customer in `asked` is looked at for any of some segments. */
const anyAsked = (segments: readonly Place[]) => anySet((word) => `words[${word + 1}]`, segments)

const flag = (ordinal: number) => `f${Math.trunc(ordinal)}`

/**
 * Fills `asked (customer, words)` for the touched customers: for each segment due whether a membership is looked at
 * anew, all others hold, as a bit at its place of `asked_places (segment, word, mask)`.
 * Needs `customers` of the touched customers, `customers_before`, the same as they were, and what conditions ask of rows.
 */
async function openAsked(
  duck: Duck,
  plan: Plan,
  due: readonly SegmentRow[],
  rows: readonly AskedRows[],
  between: Between,
): Promise<Asked> {
  const flags = flagsOf(plan, due, rows, between)
  const names = flags.map(([ordinal]) => flag(ordinal))
  const places = flags.map(([ordinal], n) => ({ ordinal: Math.trunc(ordinal), ...placeOf(n) }))
  const listed = places.map(({ ordinal, word, mask }) => `(${ordinal}, ${word + 1}, ${mask})`)
  await duck.run(
    `create table asked_places as
     from (values ${['(-1, 1, 0)', ...listed].join(', ')}) as places (segment, word, mask)`,
  )
  const anew = [
    'redirected.customer is not null',
    // Whoever was not there, or could be no member.
    'before.customer is null or now.customer is null',
    `${universe('now')} != ${universe('before')}`,
  ]
  await duck.run(`
    create table asked as
    select customer, [${packed(names).join(', ')}]::bigint[] as words
    from (
      select touched.customer, ${anew.join(' or ')} as anew
        ${flags.map(([ordinal, when]) => `, (anew or ${when}) as ${flag(ordinal)}`).join('\n        ')}
      from touched
      left join customers as now using (customer)
      left join customers_before as before using (customer)
      left join (select distinct customer from changed_customers where redirected) as redirected using (customer)
      ${rows.map(({ table }) => `left join ${table} using (customer)`).join('\n      ')}
      where touched.customer is not null
    )`)
  if (places.length === 0) return { segments: new Map(), memberships: 0 }
  const [counts = {}] = await duck.rows<Record<string, number>>(
    `select ${places.map((place) => `count_if(${anyAsked([place])})::bigint as ${flag(place.ordinal)}`).join(', ')} from asked`,
  )
  const read = relationsRead(plan)
  const asked = places.filter(({ ordinal }) => counts[flag(ordinal)])
  return {
    segments: new Map(
      asked.map(({ ordinal, ...place }) => [ordinal, { ...place, reads: read.get(ordinal) ?? new Map() }]),
    ),
    memberships: asked.reduce((sum, { ordinal }) => sum + (counts[flag(ordinal)] ?? 0), 0),
  }
}

/** Each segment with the SQL of when a membership is looked at; of those that it refers to, which come before it, the flag. */
function flagsOf(
  { profile, rows, members, everyone, levels }: Plan,
  due: readonly SegmentRow[],
  asked: readonly AskedRows[],
  { from, asOf, skipped }: Between,
): [ordinal: number, when: string][] {
  const questions = new Map(
    asked.flatMap(({ table, ids }) => ids.map((id, n) => [id, isAsked(table, n)] as const)),
  )
  const ordinals = new Map(due.map(({ id, ordinal }) => [id, ordinal]))
  const when = new Map<number, string>([
    ...rows.map(({ id }): [number, string] => [id, questions.get(id) ?? 'true']),
    ...members.map(({ id, segmentId }): [number, string] => {
      const ordinal = ordinals.get(segmentId)
      return [id, ordinal === undefined ? 'false' : flag(ordinal)]
    }),
    ...profile.map((each): [number, string] => {
      const changed = columnsIn(each.holds).map(({ name }) => `now.${name} is distinct from before.${name}`)
      const passed = slicesOfProfiles([each]).map((slice) =>
        passedBetween({ ...slice, column: `before.${slice.column}` }, from, asOf),
      )
      return [each.id, ['false', ...changed, ...passed.map((one) => `coalesce(${one}, false)`)].join(' or ')]
    }),
  ])
  const ofFormula = (formula: Formula) =>
    ['false', ...new Set(atomsOf(formula).map((id) => `(${when.get(id) ?? 'true'})`))].join(' or ')
  return [
    ...everyone.map((ordinal): [number, string] => [ordinal, 'true']),
    ...levels.flat().map(({ ordinal, formula }): [number, string] => [
      ordinal,
      // Results of a refresh that they skipped are none that they have seen.
      skipped.has(ordinal) ? 'true' : ofFormula(formula),
    ]),
  ]
}

/** The relations that each segment's conditions on rows read, with the longest of their windows. */
function relationsRead({ rows, levels }: Plan): Map<number, Map<string, number>> {
  const atoms = new Map(rows.map(({ id, atom }) => [id, atom]))
  return new Map(
    levels.flat().map(({ ordinal, formula }) => {
      const reads = new Map<string, number>()
      for (const id of atomsOf(formula)) {
        const atom = atoms.get(id)
        if (!atom) continue
        for (const read of [rowsNamed(atom.source).relation, linesOf(atom)])
          if (read) reads.set(read.name, Math.max(reads.get(read.name) ?? 0, atom.days))
      }
      return [ordinal, reads]
    }),
  )
}
