import { without } from '../lake/generation.ts'
import { sourceName } from '../lake/relations.ts'
import type { Serving } from '../lake/serving.ts'
import type { Session } from '../lake/session.ts'
import { BY_SUBJECT } from '../lake/sources.ts'
import type { Model } from '../model/graph.ts'
import { type Materialization, runModels } from '../model/run.ts'
import { SOURCES } from '../model/source.ts'
import { anyNumber, type Duck, literal } from '../store/duckdb.ts'
import { widen } from './narrow.ts'
import { DATED_SOURCES, type DatedSource, passedBetween, type Slice } from './slices.ts'

/**
 * Fills `changed_rows (customer, since, relation)`: whom rows of a later tick than `since` are about, merged ones with
 * their survivors; and `changed_customers (customer, since, redirected)`, each once; `redirected`: a redirect of theirs changed.
 * Needs `changed_subjects` and `subject_redirect`.
 */
export async function openChanged(duck: Duck, as: Materialization): Promise<void> {
  await duck.run(`
    create ${as} changed_rows as
    select distinct unnest([subject, coalesce(redirect.customer, subject)]) as customer, since, relation
    from changed_subjects
    left join subject_redirect as redirect using (subject)
    where subject is not null;
    create ${as} changed_customers as
    select customer, since, bool_or(relation = 'subject_redirect') as redirected
    from changed_rows
    group by customer, since`)
}

/**
 * Fills `dated_rows (customer, relation)`: whom rows are about that are no longer ahead since an earlier instant, merged
 * ones with their survivors; of the sources that the session opened.
 */
export async function openDated({ duck, asOf, sources }: Session, from: Date): Promise<void> {
  const dated = Object.entries(DATED_SOURCES).flatMap(([source, column]) => {
    const name = sourceName(source as DatedSource)
    const passed = passedBetween({ relation: source, column, lessDays: 0 }, from, asOf)
    return sources.has(name)
      ? `select ${literal(source)} as relation, subject from ${name} where ${passed}`
      : []
  })
  // A table of its own: whoever joins it knows how few they are.
  await duck.run(`create table dated_subjects as select distinct * from (${dated.join(' union all ')})`)
  await duck.run(`
    create table dated_rows as
    select distinct unnest([subject, coalesce(redirect.customer, subject)]) as customer, relation
    from dated_subjects
    left join subject_redirect as redirect using (subject)`)
}

/** Staging models whose rows of nobody are rows of marts as well, by their source. */
const OF_NOBODY: Readonly<Record<string, string>> = {
  stg_orders: 'orders',
  stg_subscriptions: 'subscriptions',
}

/**
 * Fills `touched (customer)`: all whose rows of the models or memberships may differ from what they were at an earlier
 * instant, since their data changed, their time came or a slice passed them; null when that is true of rows of nobody.
 * Returns the count. Needs `changed_customers` and `dated_rows`, and the relations of the slices, `customers` as it was;
 * `others`: SELECTs of more of them.
 */
export async function openTouched(
  duck: Duck,
  slices: readonly Slice[],
  from: Date,
  others: readonly string[] = [],
): Promise<number> {
  const [now] = await duck.rows<{ as_of: Date }>('select as_of from params')
  if (!now) throw new Error('a session without an instant')
  const passed = [...Map.groupBy(slices, ({ relation }) => relation)].map(([relation, group]) => {
    const spans = group.map((slice) => passedBetween(slice, from, now.as_of))
    return `select customer from ${relation} where customer is not null and (${spans.join(' or ')})`
  })
  const sources = Object.values(OF_NOBODY).map(literal).join(', ')
  const nobody = `select null from changed_subjects where subject is null and relation in (${sources})`
  const dated = `select customer from dated_rows where customer is not null or relation in (${sources})`
  await duck.run(
    `create table touched as
     select distinct customer
     from (${['select customer from changed_customers', nobody, dated, ...passed, ...others].join(' union all ')})`,
  )
  const [row] = await duck.rows<{ touched: number }>('select count(*) as touched from touched')
  return row?.touched ?? 0
}

/** Staging models that read sources and are about customers: all others see what these show. */
export const rootsOf = (models: readonly Model[]): Model[] =>
  models.filter(
    ({ layer, columns, reads }) =>
      layer === 'staging' &&
      columns.some(([column]) => column === 'customer') &&
      reads.some((one) => SOURCES.includes(one)),
  )

/**
 * Fills `<to>_subjects (subject)`: all that the customers in a table were sent as; and `<to>_redirects`, those of them.
 * `redirects`: where they are found, when it is known that these customers' are among fewer.
 */
export async function openSubjects(
  duck: Duck,
  to = 'touched',
  redirects = 'subject_redirect',
): Promise<void> {
  await duck.run(`
    create or replace table ${to}_subjects as
    select customer as subject from ${to} where customer is not null
    union
    select subject from ${redirects} semi join (from ${to} where ${anyNumber('customer')}) using (customer)`)
  await duck.run(`
    create or replace table ${to}_redirects as
    from ${redirects} semi join (from ${to}_subjects where ${anyNumber('subject')}) using (subject)`)
}

/**
 * From here on the staging models have rows of the customers in a table only, which stays. What they read of a source is
 * only the rows of these customers' subjects, found before anything is joined to them: a tenth of the time.
 */
export async function restrict(
  duck: Duck,
  roots: readonly Model[],
  to = 'touched',
  redirects?: string,
): Promise<void> {
  await openSubjects(duck, to, redirects)
  const [nobody] = await duck.rows(`select 1 from ${to} where customer is null`)
  for (const { name, sql, reads } of roots) {
    // A merge names two subjects.
    const sources = reads.includes('merges') ? [] : reads.filter((one) => BY_SUBJECT.has(one))
    const theirSubjects = `(from ${to}_subjects where ${anyNumber('subject')})`
    const own = sources.map((one) => `${one} as (from ${one} semi join ${theirSubjects} using (subject))`)
    if (own.length) own.push(`subject_redirect as (from ${to}_redirects)`)
    const all = `select * from (\n${sql}\n)`
    const others = nobody && name in OF_NOBODY ? ` union all ${all} where customer is null` : ''
    const theirs = `${all} semi join ${to} using (customer)`
    await duck.run(
      `create or replace view ${name} as (${own.length ? `with ${own.join(', ')} ` : ''}${theirs})${others}`,
    )
  }
}

/**
 * Ends a restriction: staging models have all rows again, and the marts everyone's, those of the touched customers
 * (`<mart>_touched` from here on) beside the published ones of all others. Those that are not made by customer are
 * computed over everyone, now, into a file, or when they are read, or stay as they were published.
 */
export async function mergeMarts(
  duck: Duck,
  models: readonly Model[],
  of: Serving | 'everyone anew' | 'everyone when asked' | 'everyone as published' = 'everyone anew',
): Promise<void> {
  await widen(duck)
  for (const { name, layer, sql } of models)
    if (layer === 'staging') await duck.run(`create or replace view ${name} as\n${sql}`)
  const marts = models.filter(({ stored }) => stored)
  const untouched = await without(duck, 'touched')
  for (const { name } of marts.filter(({ by }) => by)) {
    await duck.run(`alter table ${name} rename to ${name}_touched`)
    await duck.run(`
      create view ${name} as
      from published.${name} ${untouched} union all by name from ${name}_touched`)
  }
  const sums = marts.filter(({ by }) => !by)
  if (of !== 'everyone as published') {
    const materialize = (): Materialization => (of === 'everyone when asked' ? 'view' : 'table')
    return void (await runModels(duck.connection, sums, {
      materialize,
      ...(typeof of === 'object' && { into: of }),
    }))
  }
  for (const { name } of sums) await duck.run(`create or replace view ${name} as from published.${name}`)
}
