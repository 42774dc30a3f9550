import { sourceName } from '../lake/relations.ts'
import type { Session } from '../lake/session.ts'
import type { Model } from '../model/graph.ts'
import { over } from '../model/over.ts'
import { anyNumber, identifier, instant } from '../store/duckdb.ts'
import { DAY_MS } from '../time.ts'
import { parted } from './plan.ts'
import { type Copies, copiedRows } from './recent.ts'
import { DATED_SOURCES, type DatedSource, passedBetween, type Slice } from './slices.ts'

/** Since when time went on, and where rows are that it may have passed. */
export interface Passing {
  session: Session
  models: readonly Model[]
  from: Date
  /** Of recent rows, in the order of time. */
  copies: Copies | null
}

/**
 * Makes the table `passed_<relation>` of the rows of a staging model that time passed by these slices, with some of
 * their columns. Files are sorted by quarter: of each that a span lies in all times are read, of a copy only the rows.
 */
export async function openPassed(
  passing: Passing,
  slices: readonly Slice[],
  { relation, source, columns }: { relation: string; source: DatedSource; columns: Iterable<string> },
): Promise<string> {
  const { session, models, from, copies } = passing
  const { duck, asOf } = session
  const time = DATED_SOURCES[source]
  const copied = copies && (await copiedRows(session, copies, relation))
  const isRecent = ({ lessDays }: Slice) =>
    copies !== null && Number(from) - lessDays * DAY_MS >= Number(copies.since)
  const [recent, older] = copied ? parted(slices, isRecent) : [[], slices]
  const spanOf = (slice: Slice) => passedBetween(slice, from, asOf)

  const name = sourceName(source)
  const rows = older.map((slice) => `from ${name} where ${spanOf(slice)}`)
  if (copies && recent.length) {
    // Most of what came since the copy is later than any span.
    const days = Math.min(...recent.map(({ lessDays }) => lessDays))
    const last = instant(asOf, days)
    rows.push(
      `from ${name} where tick > ${copies.tick} and ${time} <= ${last} and (${anyOf(recent, spanOf)})`,
    )
  }
  const sent = over(models, relation, {
    [name]: rows.length ? rows.join(' union all ') : `from ${name} where false`,
    subject_redirect: 'from subject_redirect where false',
  })
  const parts = [`from (${sent})`, ...recent.map((slice) => `from (${copied}) where ${spanOf(slice)}`)]
  const table = `passed_${relation}`
  const list = [...new Set(['customer', ...columns])].map(identifier).join(', ')
  await duck.run(
    `create table ${table}_as_sent as ${parts.map((rows) => `select ${list} ${rows}`).join(' union all ')}`,
  )
  // So few rows look for their merges, and not all merges for their rows.
  await duck.run(`
    create table ${table} as
    select sent.* replace (coalesce(redirect.customer, sent.customer) as customer)
    from ${table}_as_sent as sent
    left join (
      from subject_redirect
      semi join (select customer as subject from ${table}_as_sent where ${anyNumber('customer')}) using (subject)
    ) as redirect on redirect.subject = sent.customer`)
  return table
}

const anyOf = (slices: readonly Slice[], spanOf: (slice: Slice) => string) => slices.map(spanOf).join(' or ')
