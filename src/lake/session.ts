import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { v7 as uuidv7 } from 'uuid'
import type { Brand } from '../op.ts'
import { type Duck, literal, openDuck } from '../store/duckdb.ts'
import { brandFolder } from '../store/lake.ts'
import { brandManifest, type LakeFile, type Manifest } from './manifest.ts'
import type { Pipeline } from './pipeline.ts'
import { columnsOf, RELATIONS, type Relation, type RelationName, sourceName } from './relations.ts'

/** A locked DuckDB over one brand's sources at one manifest: it can reach no file of another brand. */
export interface Session {
  readonly duck: Duck
  readonly manifest: Manifest
  readonly asOf: Date
  /** Absolute folder of the brand, the only one that the session may write to. */
  readonly folder: string
  close(): Promise<void>
}

/**
 * Opens the sources of a brand (columns of `RELATIONS`, current versions only) and `params`, then locks them in. With
 * `since`, also `changed_subjects (relation, subject, since)`: whom the rows that a later tick than `since` wrote are
 * about, or were about in an earlier version. An earlier version that was folded away since is not known.
 */
export async function openSession(
  pipeline: Pipeline,
  brand: Brand,
  asOf: Date,
  since: readonly number[] = [],
): Promise<Session> {
  const manifest = await brandManifest(pipeline.postgres, brand.id)
  const folder = join(pipeline.lakeDir, brandFolder(brand.id))
  const tempDir = join(folder, 'tmp', uuidv7())
  const duck = await openDuck({ memoryMb: pipeline.memoryMb, threads: pipeline.threads, tempDir })
  const close = async () => {
    duck.close()
    await rm(tempDir, { recursive: true, force: true })
  }
  try {
    await duck.run('create table changed_subjects (relation varchar, subject integer, since bigint)')
    for (const relation of Object.keys(RELATIONS) as RelationName[])
      await openSource(duck, pipeline.lakeDir, manifest, relation, since)
    // Bound as text: the binding has no TIMESTAMP parameter of its own.
    await duck.run(
      `create table params as
       select $1::timestamp as as_of, $2::varchar as timezone, $3::varchar as currency_code, $4::uuid as brand_id`,
      [asOf, brand.timezone, brand.currency_code, brand.id],
    )
    await duck.lock([folder])
    return { duck, manifest, asOf, folder, close }
  } catch (error) {
    await close()
    throw error
  }
}

async function openSource(
  duck: Duck,
  lakeDir: string,
  manifest: Manifest,
  relation: RelationName,
  since: readonly number[],
): Promise<void> {
  const { kind, key } = RELATIONS[relation] as Relation
  const columns = columnsOf(relation).join(', ')
  const own = manifest.files.filter((file) => file.relation === relation)
  const staged = manifest.staged.filter((file) => file.relation === relation)
  const view = sourceName(relation)
  const changed = `${relation}_staged`
  // Staged rows are copied in before the lock: their files hold other brands' rows too.
  await duck.run(`create table ${changed} (${columnTypes(relation)})`)
  if (staged.length) {
    await duck.run(
      `insert into ${changed} select ${columns} from read_parquet(${fileList(lakeDir, staged)})
       where brand_id = ${literal(manifest.brandId)}::uuid and tick > ${Number(manifest.cutTicks[relation] ?? 0)}`,
    )
  }
  if (kind === 'append') {
    const parts = own.length
      ? [`select ${columns} from read_parquet(${fileList(lakeDir, own)})`, `from ${changed}`]
      : [`from ${changed}`]
    await duck.run(`create view ${view} as ${parts.join(' union all ')}`)
    for (const tick of since)
      await noteChanged(duck, relation, `from ${view} where tick > ${Math.trunc(tick)}`, tick)
    return
  }

  // A base holds each key once; what changed since is small and replaces it.
  const base = own.filter((file) => file.level > 0)
  const deltas = own.filter((file) => file.level === 0)
  if (deltas.length) {
    await duck.run(`insert into ${changed} select ${columns} from read_parquet(${fileList(lakeDir, deltas)})`)
  }
  for (const tick of since) {
    const keys = key.join(', ')
    const versions = [
      `from ${changed}`,
      ...(base.length ? [`from read_parquet(${fileList(lakeDir, base)})`] : []),
    ]
    const later = versions.map((version) => `select ${keys} ${version} where tick > ${Math.trunc(tick)}`)
    const moved = `(${later.join(' union ')})`
    const all = versions.map((version) => `select ${columns} ${version}`).join(' union all ')
    // Whom a row was about until then, not whom it was about before that: nothing of theirs changed since.
    const until = `row_number() over (partition by ${keys}, tick > ${Math.trunc(tick)} order by tick desc) = 1`
    const rows = `from (${all}) semi join ${moved} using (${keys}) qualify tick > ${Math.trunc(tick)} or ${until}`
    await noteChanged(duck, relation, rows, tick)
  }
  const newest = `select ${columns} from ${changed} qualify row_number() over (partition by ${key.join(', ')} order by tick desc) = 1`
  await duck.run(`create table ${relation}_changed as ${newest}`)
  await duck.run(`drop table ${changed}`)
  const current = `select ${columns} from ${relation}_changed where not deleted`
  if (relation === 'customers') await openErased(duck, lakeDir, base)
  if (!base.length) {
    await duck.run(`create view ${view} as ${current}`)
    return
  }
  const [count] = await duck.rows<{ rows: number }>(`select count(*) as rows from ${relation}_changed`)
  const unchanged = `select ${columns} from read_parquet(${fileList(lakeDir, base)}) as base
    ${count?.rows ? `anti join ${relation}_changed using (${key.join(', ')})` : ''} where not deleted`
  await duck.run(`create view ${view} as ${count?.rows ? `${current} union all ${unchanged}` : unchanged}`)
}

/** What erased customers left: histories name them by their ids. */
async function openErased(duck: Duck, lakeDir: string, base: readonly LakeFile[]): Promise<void> {
  const unchanged = `union all select subject, customer_id, deleted, email, phone, store_customer_id
    from read_parquet(${fileList(lakeDir, base)}) anti join customers_changed using (subject)`
  await duck.run(
    `create view customers_erased as select subject, customer_id
     from (
       select subject, customer_id, deleted, email, phone, store_customer_id from customers_changed
       ${base.length ? unchanged : ''}
     )
     where deleted and coalesce(email, phone, store_customer_id) is null`,
  )
}

/** Columns that name a subject, of the relations that are about one. */
const ABOUT: Readonly<Partial<Record<RelationName, readonly string[]>>> = {
  events: ['subject'],
  customers: ['subject'],
  subject_redirect: ['subject', 'customer'],
  visitors: ['subject'],
  orders: ['subject'],
  refunds: ['subject'],
  checkouts: ['subject'],
  subscriptions: ['subject'],
  conversations: ['subject'],
  messages: ['subject'],
}

async function noteChanged(duck: Duck, relation: RelationName, rows: string, since: number): Promise<void> {
  for (const column of ABOUT[relation] ?? [])
    await duck.run(
      `insert into changed_subjects
       select distinct ${literal(relation)}, ${column}, ${Math.trunc(since)} ${rows}`,
    )
}

/** The files as a DuckDB list of absolute paths. */
export const fileList = (lakeDir: string, files: readonly Pick<LakeFile, 'path'>[]) =>
  `[${files.map(({ path }) => literal(join(lakeDir, path))).join(', ')}]`

export function columnTypes(relation: RelationName): string {
  const { columns } = RELATIONS[relation] as Relation
  const typed = Object.entries(columns).map(([name, [type]]) => `${name} ${type}`)
  return ['brand_id uuid', 'tick bigint', ...typed].join(', ')
}
