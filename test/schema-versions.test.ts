import { renameSync } from 'node:fs'
import { join } from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'
import t, { type Test } from 'tap'
import { plan } from '../jobs/plan.ts'
import { compactBrand } from '../src/lake/compact.ts'
import { compactStaging } from '../src/lake/compact-staging.ts'
import { eraseFromFiles } from '../src/lake/erase-files.ts'
import { snapshotAll } from '../src/lake/horizon.ts'
import { brandManifest, filesOf, type LakeFile } from '../src/lake/manifest.ts'
import { setLogLevel } from '../src/log.ts'
import { brand as newBrand } from './fixtures/brand.ts'
import { controlled } from './fixtures/control.ts'
import { lake, sourceRows } from './fixtures/lake.ts'

setLogLevel('error')

/** A brand whose orders are in the lake, some of them in files as they were written before orders had `product_ids`. */
async function store(t: Test) {
  const pipeline = await lake(t)
  const brand = await newBrand(pipeline)
  const { sql } = pipeline.postgres
  const duck = await (await DuckDBInstance.create()).connect()
  const pathOf = ({ path }: LakeFile) => join(pipeline.lakeDir, path)
  const files = async () => filesOf(await brandManifest(pipeline.postgres, brand.id), 'orders')

  return {
    pipeline,
    brand,
    files,
    /** Orders of these products, in the lake. */
    async put(orders: Record<string, (string | null)[]>) {
      for (const [id, products] of Object.entries(orders)) {
        const lines = JSON.stringify(products.map((product_id) => ({ product_id, quantity: 1 })))
        await sql`
          insert into store_order (brand_id, external_id, id, subject, state, billing_status, currency_code, total, lines, created_at, updated_at)
          values (${brand.id}, ${id}, gen_random_uuid(), 7, 'complete', 'paid', 'USD', '1.00', ${lines}::text::jsonb, now(), now())
          on conflict (brand_id, external_id) do update set lines = excluded.lines`
      }
      await snapshotAll(pipeline)
    },
    /** Makes the files of today what they were before. */
    async outdate(which: (file: LakeFile) => boolean = () => true) {
      for (const file of (await files()).filter(which)) {
        const older = `${pathOf(file)}.older`
        await duck.run(
          `copy (select * exclude (product_ids) from read_parquet('${pathOf(file)}')) to '${older}' (format parquet)`,
        )
        renameSync(older, pathOf(file))
        await sql`update lake_file set schema_version = 1 where id = ${file.id}`
      }
    },
    read: async () => {
      const rows = await sourceRows<{ id: string; product_ids: string[] | null }>(
        pipeline,
        brand,
        'select external_id as id, product_ids from orders_source order by id',
      )
      return Object.fromEntries(rows.map(({ id, product_ids }) => [id, product_ids]))
    },
    /** Schema version of each file, and whether it has the column. */
    written: async () =>
      Promise.all(
        (await files()).map(async (file) => {
          const found = await duck.runAndReadAll(`describe from read_parquet('${pathOf(file)}')`)
          const columns = found.getRowObjectsJS().map(({ column_name }) => column_name)
          return [
            file.schema_version,
            columns.filter((name) => String(name).startsWith('product_ids')).length === 1,
          ]
        }),
      ),
  }
}

t.test('a file has the different products of an order', async (t) => {
  const { put, read, written } = await store(t)
  await put({ a: ['p2', 'p1', 'p2', null], b: [null], c: [] })
  t.same(await read(), { a: ['p1', 'p2'], b: [], c: [] })
  t.same(await written(), [[2, true]])
})

t.test('of a file from before that they follow from the lines', async (t) => {
  const { put, outdate, read, written } = await store(t)
  await put({ a: ['p2', 'p1', 'p2', null], b: [null], c: [] })
  await outdate()
  t.same(await written(), [[1, false]])
  t.same(await read(), { a: ['p1', 'p2'], b: [], c: [] })
})

t.test('files of both versions are read as one relation', async (t) => {
  const { put, outdate, read } = await store(t)
  await put({ a: ['p1'], b: ['p1'] })
  await outdate()
  await put({ b: ['p2'], c: ['p3'] })
  t.same(await read(), { a: ['p1'], b: ['p2'], c: ['p3'] })
})

t.test('files that are cut and folded are of today’s version', async (t) => {
  const { pipeline, brand, put, outdate, read, written } = await store(t)
  await put({ a: ['p1'], b: ['p1'] })
  await outdate()
  await put({ b: ['p2'] })
  await compactBrand(pipeline, brand.id, true)
  t.same(await read(), { a: ['p1'], b: ['p2'] })
  t.same(await written(), [[2, true]], 'cut')
  await outdate()
  await put({ b: ['p3'], c: ['p3'] })
  await compactBrand(pipeline, brand.id, true)
  t.same(await read(), { a: ['p1'], b: ['p3'], c: ['p3'] })
  t.same(await written(), [[2, true]], 'folded')
})

t.test('a base of before is written anew, which the planner asks for once', async (t) => {
  const { pipeline, brand, put, outdate, read, written } = await store(t)
  await put({ a: ['p1'] })
  await compactBrand(pipeline, brand.id, true)
  await put({ b: ['p2'] })
  await compactBrand(pipeline, brand.id, true)
  const asked = async () => {
    await pipeline.postgres.sql`update lake_brand set compact_planned_at = null`
    const sent: [queue: string, payload?: object][] = []
    const send = async (queue: string, payload?: object) => void sent.push([queue, payload])
    await plan.run({ ...pipeline, refreshCron: '*/15 * * * *' }, {}, controlled({ send }))
    return sent.filter(([queue]) => queue === 'compact')
  }
  t.same(await asked(), [])
  await outdate()
  t.same(await asked(), [['compact', { brands: [brand.id] }]])
  await compactBrand(pipeline, brand.id)
  t.same(await written(), [[2, true]])
  t.same(await read(), { a: ['p1'], b: ['p2'] })
  t.same(await asked(), [])
})

t.test('so are shared files that are merged', async (t) => {
  const { pipeline, put, outdate, read, written } = await store(t)
  const ids = 'abcdefghijkl'.split('')
  for (const [n, id] of ids.entries()) {
    await put({ [id]: [`p${n}`] })
    if (n === 5) await outdate()
  }
  await compactStaging(pipeline)
  t.same(new Set((await written()).map(String)), new Set(['2,true']))
  t.same(await read(), Object.fromEntries(ids.map((id, n) => [id, [`p${n}`]])))
})

t.test('what a worker of before made of files of today is folded as any other', async (t) => {
  const { pipeline, brand, put, outdate, read, written } = await store(t)
  await put({ a: ['p1'], b: ['p1'] })
  await compactBrand(pipeline, brand.id, true)
  // It copies all columns that it finds, and says that they are those that it knows.
  await pipeline.postgres.sql`update lake_file set schema_version = 1`
  t.same(await read(), { a: ['p1'], b: ['p1'] })
  await compactBrand(pipeline, brand.id)
  t.same(await written(), [[2, true]])
  await pipeline.postgres.sql`update lake_file set schema_version = 1`
  await put({ b: ['p2'] })
  await outdate((file) => file.level === 0)
  await compactBrand(pipeline, brand.id, true)
  t.same(await written(), [[2, true]])
  t.same(await read(), { a: ['p1'], b: ['p2'] })
})

t.test('an erasure leaves each file of the version that it is of', async (t) => {
  const { pipeline, brand, put, outdate, read, written } = await store(t)
  await put({ a: ['p1'] })
  await outdate()
  await put({ b: ['p2'] })
  await eraseFromFiles(pipeline, brand.id, [7])
  t.same(await read(), { a: ['p1'], b: ['p2'] })
  t.same((await written()).map(String).sort(), ['1,false', '2,true'])
  t.same(await sourceRows(pipeline, brand, 'from orders_source where subject is not null'), [])
})
