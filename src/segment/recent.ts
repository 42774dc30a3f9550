import { fileRows } from '../lake/file-rows.ts'
import { laterFiles } from '../lake/manifest.ts'
import type { RelationName } from '../lake/relations.ts'
import type { ServedTable } from '../lake/serving.ts'
import type { Session } from '../lake/session.ts'
import type { Model } from '../model/graph.ts'
import { over } from '../model/over.ts'
import { type Duck, instant } from '../store/duckdb.ts'

/*
 * Lake files are sorted by customer, which makes a rule over the last days read them all. A refresh of everyone
 * publishes the rows of these days once more, in the order of time; sessions that read take them from there.
 */
const RECENT_DAYS = 91

interface Copied {
  /**
   * The staging model whose rows are copied, under the subjects that they were sent as; `owner` is whom each belonged
   * to. Merges are of today: only those since are looked up.
   */
  model: string
  relation: 'events' | 'orders'
  source: string
  time: string
  /** Of a mutable relation: what tells its rows apart in source and model alike. */
  key?: string
}

const COPIED: readonly Copied[] = [
  { model: 'stg_product_events', relation: 'events', source: 'events', time: 'occurred_at' },
  {
    model: 'stg_orders',
    relation: 'orders',
    source: 'orders_source',
    time: 'created_at',
    key: 'external_id',
  },
]

const copyOf = ({ model }: Copied) => model.replace('stg_', 'recent_')

/** Tables of a file of everyone: the copies, and up to which tick and since when they have rows. */
export function recentTables({ manifest, asOf }: Session, models: readonly Model[]): ServedTable[] {
  const since = instant(asOf, RECENT_DAYS)
  const bounds = { name: 'recent', select: `select ${manifest.tick}::bigint as tick, ${since} as since` }
  const copies = COPIED.map((copied) => ({
    name: copyOf(copied),
    // What is ahead of as_of is there as well: it has come when the copy is read.
    select: `select rows.*, coalesce(redirect.customer, rows.customer) as owner from (${over(
      models,
      copied.model,
      {
        params: `select * replace (timestamp 'infinity' as as_of) from params`,
        subject_redirect: 'from subject_redirect where false',
        [copied.source]: `from ${copied.source} where ${copied.time} > ${since}`,
      },
    )}) as rows left join subject_redirect as redirect on redirect.subject = rows.customer
    order by ${copied.time}`,
  }))
  return [bounds, ...copies]
}

/** Published copies: up to which tick and since when they have rows. */
export interface Copies {
  tick: number
  since: Date
}

/** The copies of the generation that is attached; null where it has none. */
export async function copiesIn(duck: Duck): Promise<Copies | null> {
  const owned = await duck.rows(
    `select 1 from duckdb_columns() where schema_name = 'published' and column_name = 'owner'`,
  )
  if (owned.length < COPIED.length) return null
  const [copies] = await duck.rows<Copies>('select tick, since from published.recent')
  return copies ?? null
}

/**
 * The rows of a staging model that its copy has, as they were sent, but those that later ticks replaced: a SELECT, null
 * for a model that is not copied.
 */
export async function copiedRows(session: Session, { tick }: Copies, model: string): Promise<string | null> {
  const copied = COPIED.find((one) => one.model === model)
  if (!copied) return null
  const { relation, key } = copied
  const replaced = `${copyOf(copied)}_replaced`
  const isReplaced = key && (await openChangedKeys(session, tick, relation, key, replaced))
  return `from published.${copyOf(copied)} ${isReplaced ? `anti join ${replaced} using (${key})` : ''}`
}

/**
 * Makes the staging models of a session take their recent rows from the published copies, when there are some. Which
 * rows they show stays the same: those of the copy, what later ticks brought, and what is older than the copy.
 */
export async function openRecent(session: Session, models: readonly Model[]): Promise<void> {
  const { duck } = session
  const copies = await copiesIn(duck)
  if (!copies) return
  const { tick, since } = copies
  const merged = await openChangedKeys(session, tick, 'subject_redirect', 'subject', 'redirected_since')
  if (merged)
    await duck.run(`
      create table owners_since as
      select subject, coalesce(redirect.customer, subject) as owner
      from redirected_since left join subject_redirect as redirect using (subject)`)
  const owner = merged ? 'coalesce(moved.owner, rows.owner)' : 'rows.owner'
  const moved = merged ? 'left join owners_since as moved on moved.subject = rows.customer' : ''

  for (const copied of COPIED) {
    const { model, relation, source, time } = copied
    const recent = `
      select rows.* exclude (owner) replace (${owner} as customer)
      from (${await copiedRows(session, copies, model)}) as rows
      cross join params
      ${moved}
      where rows.${time} <= params.as_of`
    const among = (rows: string) =>
      `from (${over(models, model, { [source]: `from ${source} where ${rows}` })})`
    const parts = [recent, among(`tick <= ${tick} and ${time} <= ${instant(since)}`)]
    if (laterFiles(session.manifest, relation, tick).length) {
      // To look up whose they are, all merges are hashed: once, and not for each statement.
      await duck.run(`create table ${copyOf(copied)}_later as ${among(`tick > ${tick}`)}`)
      parts.push(`from ${copyOf(copied)}_later`)
    }
    await duck.run(`create or replace view ${model} as ${parts.join(' union all by name ')}`)
  }
}

/** Makes a table of the keys of a mutable relation's rows that changed after a tick; false when none did. */
async function openChangedKeys(
  { duck, manifest, lakeDir }: Session,
  tick: number,
  relation: RelationName,
  key: string,
  table: string,
): Promise<boolean> {
  // Of shared files its rows are among those that changed.
  const folded = laterFiles(manifest, relation, tick).filter(
    ({ brand_id, level }) => brand_id !== null && level > 0,
  )
  const versions = [`${relation}_changed`, ...(folded.length ? [fileRows(lakeDir, relation, folded)] : [])]
  const keys = versions.map((rows) => `select ${key} from ${rows} where tick > ${tick}`)
  await duck.run(`create table ${table} as ${keys.join(' union ')}`)
  return (await duck.rows(`select 1 from ${table} limit 1`)).length > 0
}
