import type { App } from '../src/app.ts'
import { fileList, fileRows } from '../src/lake/file-rows.ts'
import {
  addFiles,
  brandManifest,
  type LakeFile,
  type Manifest,
  type NewFile,
  publishFiles,
} from '../src/lake/manifest.ts'
import type { Relation } from '../src/lake/relation.ts'
import { columnsOf, RELATIONS, type RelationName } from '../src/lake/relations.ts'
import { columnTypes } from '../src/lake/sources.ts'
import { writeParquet } from '../src/lake/stage.ts'
import { withWorkspace } from '../src/lake/workspace.ts'
import type { Brand } from '../src/op.ts'
import { type Duck, literal } from '../src/store/duckdb.ts'
import { brandFolder } from '../src/store/lake.ts'

interface Place {
  app: App
  brand: Brand
}

const PARTS = 100
/** Customers are parted by a hash of their ordinals, those who were merged with their survivors. */
const partOf = (subject: string) => `(hash(coalesce(redirects.customer, ${subject})) % ${PARTS})`

/**
 * Copies a share of a brand's customers, with all that is of theirs, into another brand whose lake is empty: files as a
 * compaction leaves them. Postgres knows nothing of them, so that no event can be received of these customers.
 */
export async function copyShare(from: Place, to: Place, share: number): Promise<void> {
  const manifest = await brandManifest(from.app.postgres, from.brand.id)
  const tick = await nextTick(to)
  await withWorkspace(to.app.pipeline, async (duck) => {
    const read = (relation: RelationName) => currentRows(manifest, from.app.pipeline.lakeDir, relation)
    await duck.run(`create table redirects (subject integer, customer integer)`)
    const redirects = read('subject_redirect')
    if (redirects)
      await duck.run(`insert into redirects select subject, customer from (${redirects}) where not deleted`)
    const files: NewFile[] = []
    for (const relation of Object.keys(RELATIONS) as RelationName[]) {
      const rows = read(relation)
      if (!rows) continue
      const subject =
        relation === 'merges' ? 'to_subject' : 'subject' in RELATIONS[relation].columns ? 'subject' : null
      const theirs = subject
        ? `left join redirects on redirects.subject = rows.${subject}
           where ${partOf(`rows.${subject}`)} < ${Math.round(share * PARTS)}`
        : ''
      const select = `select ${columnsIn(relation, to.brand, tick)} from (${rows}) as rows ${theirs}`
      const file = await written(duck, to, relation, select, 1)
      if (file) files.push(file)
    }
    await publish(to, files)
  })
}

/** So many events of the last quarter of an hour, of customers who are there, as the next tick brings them. */
export async function addNews({ app, brand }: Place, count: number): Promise<void> {
  const tick = await nextTick({ app, brand })
  const manifest = await brandManifest(app.postgres, brand.id)
  const events = manifest.files.filter(({ relation, level }) => relation === 'events' && level > 0)
  const every = Math.max(1, Math.floor(events.reduce((sum, { rows }) => sum + rows, 0) / count))
  await withWorkspace(app.pipeline, async (duck) => {
    const rows = `from read_parquet(${fileList(app.pipeline.lakeDir, events)})`
    await duck.run(`create table news as ${rows} where hash(event_id, ${tick}) % ${every} = 0 limit ${count}`)
    await duck.run(`
      update news set event_id = uuid()::varchar, received_at = now()::timestamp,
        occurred_at = now()::timestamp - to_seconds((random() * 900)::integer)`)
    const file = await written(
      duck,
      { app, brand },
      'events',
      `select ${columnsIn('events', brand, tick)} from news as rows`,
      0,
    )
    await publish({ app, brand }, file ? [file] : [])
  })
}

/** The rows of a brand's files, of mutable ones the newest version of each. */
function currentRows(manifest: Manifest, lakeDir: string, relation: RelationName): string | null {
  const of = (files: readonly LakeFile[]) => files.filter((file) => file.relation === relation)
  const own = of(manifest.files)
  const staged = of(manifest.staged)
  const columns = columnsOf(relation).join(', ')
  const parts = [
    ...(own.length ? [`select ${columns} from ${fileRows(lakeDir, relation, own)}`] : []),
    ...(staged.length
      ? [
          `select ${columns} from ${fileRows(lakeDir, relation, staged)}
           where brand_id = ${literal(manifest.brandId)}::uuid and tick > ${Number(manifest.cutTicks[relation] ?? 0)}`,
        ]
      : []),
  ]
  if (parts.length === 0) return null
  const { kind, key } = RELATIONS[relation] as Relation
  const newest = `qualify row_number() over (partition by ${key.join(', ')} order by tick desc) = 1`
  return `from (${parts.join(' union all ')}) ${kind === 'versions' ? newest : ''}`
}

const columnsIn = (relation: RelationName, brand: Brand, tick: number) =>
  columnsOf(relation)
    .map((name) =>
      name === 'brand_id'
        ? `${literal(brand.id)}::uuid as brand_id`
        : name === 'tick'
          ? `${tick}::bigint as tick`
          : `rows.${name}`,
    )
    .join(', ')

async function written(
  duck: Duck,
  { app, brand }: Place,
  relation: RelationName,
  select: string,
  level: number,
): Promise<NewFile | null> {
  await duck.run(`create or replace table output (${columnTypes(relation)})`)
  await duck.run(`insert into output ${select}`)
  const occurred = relation === 'events' ? 'occurred_at' : 'null::timestamp'
  const [range] = await duck.rows<
    Pick<NewFile, 'rows' | 'tick_lo' | 'tick_hi' | 'occurred_lo' | 'occurred_hi'>
  >(
    `select count(*) as rows, min(tick) as tick_lo, max(tick) as tick_hi, min(${occurred}) as occurred_lo,
       max(${occurred}) as occurred_hi from output`,
  )
  if (!range?.rows) return null
  const order = RELATIONS[relation].order.join(', ')
  const folder = brandFolder(brand.id)
  const file = await writeParquet(duck, app.pipeline, folder, relation, `from output order by ${order}`)
  return { ...file, ...range, brand_id: brand.id, relation, level }
}

const nextTick = async ({ app, brand }: Place) => (await brandManifest(app.postgres, brand.id)).tick + 1

/** As the next tick. */
async function publish({ app, brand }: Place, files: readonly NewFile[]): Promise<void> {
  await publishFiles(app.pipeline, files, async (tx) => {
    const state = await tx.one<{ tick: number; erasures: number; horizon: string }>('lake_state_read', [])
    await tx.run('lake_state_advance', [state.tick, state.horizon, state.erasures])
    await addFiles(tx, files)
    await tx.run('lake_brands_changed', [state.tick + 1, [brand.id]])
  })
}
