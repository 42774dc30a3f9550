import type { ServedTable } from '../lake/serving.ts'
import { fileList, type Session } from '../lake/session.ts'
import type { Model } from '../model/graph.ts'
import { over } from '../model/over.ts'
import { literal } from '../store/duckdb.ts'

/*
 * Lake files are sorted by customer, which makes a rule over the last days read them all. A refresh of everyone
 * publishes the rows of these days once more, in the order of time; sessions that read take them from there.
 */
const RECENT_DAYS = 91

interface Copied {
  /** The staging model whose rows are copied, under the subjects that they were sent as: merges are of today. */
  model: string
  source: string
  time: string
  /** Of a mutable relation: its name, and what tells its rows apart in source and model alike. */
  mutable?: { relation: 'orders'; key: string }
}

const COPIED: readonly Copied[] = [
  { model: 'stg_product_events', source: 'events', time: 'occurred_at' },
  {
    model: 'stg_orders',
    source: 'orders_source',
    time: 'created_at',
    mutable: { relation: 'orders', key: 'external_id' },
  },
]

const copyOf = ({ model }: Copied) => model.replace('stg_', 'recent_')

/** Tables of a file of everyone: the copies, and up to which tick and since when they have rows. */
export function recentTables({ manifest, asOf }: Session, models: readonly Model[]): ServedTable[] {
  const since = `timestamp ${literal(asOf.toISOString())} - to_days(${RECENT_DAYS})`
  const bounds = { name: 'recent', select: `select ${manifest.tick}::bigint as tick, ${since} as since` }
  const copies = COPIED.map((copied) => ({
    name: copyOf(copied),
    // What is ahead of as_of is there as well: it has come when the copy is read.
    select: `from (${over(models, copied.model, {
      params: `select * replace (timestamp 'infinity' as as_of) from params`,
      subject_redirect: 'from subject_redirect where false',
      [copied.source]: `from ${copied.source} where ${copied.time} > ${since}`,
    })}) order by ${copied.time}`,
  }))
  return [bounds, ...copies]
}

/**
 * Makes the staging models of a session take their recent rows from the published copies, when there are some. Which
 * rows they show stays the same: those of the copy, what later ticks brought, and what is older than the copy.
 */
export async function openRecent(
  { duck, manifest }: Session,
  lakeDir: string,
  models: readonly Model[],
): Promise<void> {
  const [there] = await duck.rows(
    `select 1 from duckdb_views() where schema_name = 'published' and view_name = 'recent'`,
  )
  if (!there) return
  const [{ tick, since }] = (await duck.rows(
    'select tick, since::varchar as since from published.recent',
  )) as [{ tick: number; since: string }]
  for (const copied of COPIED) {
    const { model, source, time, mutable } = copied
    let unchanged = ''
    if (mutable) {
      const { relation, key } = mutable
      const folded = manifest.files.filter(
        (file) => file.relation === relation && file.level > 0 && file.tick_hi > tick,
      )
      const versions = [
        `${relation}_changed`,
        ...(folded.length ? [`read_parquet(${fileList(lakeDir, folded)})`] : []),
      ]
      const later = versions.map((rows) => `select ${key} from ${rows} where tick > ${tick}`)
      await duck.run(`create table ${copyOf(copied)}_replaced as ${later.join(' union ')}`)
      unchanged = `anti join ${copyOf(copied)}_replaced using (${key})`
    }
    const recent = `
      select rows.* replace (coalesce(redirect.customer, rows.customer) as customer)
      from (from published.${copyOf(copied)} ${unchanged}) as rows
      cross join params
      left join subject_redirect as redirect on redirect.subject = rows.customer
      where rows.${time} <= params.as_of`
    const later = `from ${source} where tick > ${tick}`
    const older = `from ${source} where tick <= ${tick} and ${time} <= timestamp ${literal(since)}`
    const others = [later, older].map((rows) => `from (${over(models, model, { [source]: rows })})`)
    await duck.run(`create or replace view ${model} as ${[recent, ...others].join(' union all by name ')}`)
  }
}
