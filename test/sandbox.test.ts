import { existsSync, readdirSync, unlinkSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { compactBrand } from '../src/lake/compact.ts'
import { filesOf } from '../src/lake/manifest.ts'
import { closePipeline, type Pipeline } from '../src/lake/pipeline.ts'
import { retain } from '../src/lake/retention.ts'
import { openSession, type Session } from '../src/lake/session.ts'
import { brand as newBrand } from './fixtures/brand.ts'
import { lake, logBatch, tick } from './fixtures/lake.ts'
import { LEAVE, leftIn } from './fixtures/left-in-duck.ts'

/** Two small brands with an event each, one in a file of its own, the other in a shared one. */
async function twoBrands(t: Test) {
  const pipeline = await lake(t)
  const [own, staged] = [await newBrand(pipeline), await newBrand(pipeline)]
  for (const { id } of [own, staged])
    await logBatch(pipeline.postgres.sql, [{ brand_id: id, anonymous_id: id }])
  await tick(pipeline)
  await compactBrand(pipeline, own.id, true)
  const enter = (brand: typeof own, signal?: AbortSignal) =>
    openSession(pipeline, brand, new Date(), { brief: true, signal })
  return { pipeline, own, staged, enter }
}

const places = ({ lakeDir }: Pipeline) => readdirSync(join(lakeDir, 'tmp'))
const brandsIn = async ({ duck }: Session) =>
  (await duck.rows<{ id: string }>('select distinct brand_id::varchar as id from events')).map(({ id }) => id)
const fileOf = (lakeDir: string, { manifest }: Session) =>
  join(lakeDir, filesOf(manifest, 'events')[0]?.path ?? 'missing')

t.test('sessions of small brands take turns in one place, and each has its own rows', async (t) => {
  const { pipeline, own, staged, enter } = await twoBrands(t)
  const seen = new Set<string>()
  for (const brand of [own, staged, own]) {
    const session = await enter(brand)
    seen.add(session.lakeDir)
    t.same(await brandsIn(session), [brand.id])
    await session.close()
  }
  t.equal(seen.size, 1)
  await closePipeline(pipeline)
  t.same(places(pipeline), [], 'a place that is closed leaves nothing')
})

t.test('nothing of a turn is there in the next one', async (t) => {
  const { own, staged, enter } = await twoBrands(t)
  const first = await enter(own)
  const left = fileOf(first.lakeDir, first)
  t.ok(existsSync(left))
  await first.duck.run(LEAVE)
  await first.duck.run(`attach '${join(first.lakeDir, 'brands', own.id, 'kept.duckdb')}' as kept_file`)
  await first.close()
  t.notOk(existsSync(left), 'its links are gone')

  const second = await enter(staged)
  t.teardown(() => second.close())
  t.equal(second.lakeDir, first.lakeDir)
  t.same(await leftIn(second.duck), [])
  await t.rejects(second.duck.run('execute kept_statement'), /kept_statement/)
})

t.test('from a place no file of another brand can be reached', async (t) => {
  const { pipeline, own, staged, enter } = await twoBrands(t)
  const session = await enter(own)
  t.teardown(() => session.close())
  const other = await enter(staged)
  t.teardown(() => other.close())
  t.not(session.lakeDir, other.lakeDir, 'two at the same time have a place each')
  const reads = (path: string) => session.duck.rows(`from read_parquet('${path}')`)
  await t.resolves(reads(fileOf(session.lakeDir, session)))
  await t.rejects(reads(fileOf(pipeline.lakeDir, other)), /Permission/, 'in the lake')
  await t.rejects(reads(join(other.lakeDir, 'brands', '*', '*')), /Permission/, 'in the other place')
  await t.rejects(reads(`${session.lakeDir}/../../staging/*.parquet`), /Permission/, 'by a way around')
  await t.rejects(
    other.duck.rows(`from read_parquet('${fileOf(other.lakeDir, other)}')`),
    /No files found/,
    'shared files, which hold rows of others, too, are gone when a session is open',
  )
  await t.rejects(session.duck.run('set enable_external_access = true'), /locked|configuration/)
})

t.test('a place whose session was interrupted is not used again', async (t) => {
  const { own, staged, enter } = await twoBrands(t)
  const given = new AbortController()
  const first = await enter(own, given.signal)
  given.abort(new Error('enough'))
  await t.rejects(brandsIn(first), /enough/)
  await first.close()
  t.notOk(existsSync(first.lakeDir))
  const second = await enter(staged)
  t.teardown(() => second.close())
  t.same(await brandsIn(second), [staged.id])
})

t.test('retention leaves the links of a session alone, however old the files are', async (t) => {
  const { pipeline, own, enter } = await twoBrands(t)
  const session = await enter(own)
  t.teardown(() => session.close())
  const old = new Date(Date.now() - 100 * 3_600_000)
  utimesSync(fileOf(pipeline.lakeDir, session), old, old)
  await retain(pipeline)
  t.same(await brandsIn(session), [own.id])
})

t.test('a file that is missing fails the session that wants it, and no other', async (t) => {
  const { pipeline, own, staged, enter } = await twoBrands(t)
  const session = await enter(own)
  unlinkSync(fileOf(pipeline.lakeDir, session))
  t.same(await brandsIn(session), [own.id], 'who has it open reads on')
  await session.close()
  await t.rejects(enter(own), { code: 'ENOENT' })
  const other = await enter(staged)
  t.teardown(() => other.close())
  t.same(await brandsIn(other), [staged.id])
})

t.test('a session of a large brand that cannot be opened gives its room back', async (t) => {
  const { pipeline, own } = await twoBrands(t)
  const open = (read: () => undefined) =>
    openSession(pipeline, own, new Date(), { brief: true, smallRows: 0, read })
  const refuse = () => {
    throw new Error('not today')
  }
  for (let time = 0; time < 5; time++) await t.rejects(open(refuse), /not today/)
  const session = await open(() => undefined)
  t.teardown(() => session.close())
  t.same(await brandsIn(session), [own.id])
})
