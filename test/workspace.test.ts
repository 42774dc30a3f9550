import { existsSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'
import { PATIENCE, sweepAfterErasure } from '../src/lake/erase-disk.ts'
import { closePipeline, type Pipeline } from '../src/lake/pipeline.ts'
import { withWorkspace } from '../src/lake/workspace.ts'
import { brand as newBrand } from './fixtures/brand.ts'
import { lake } from './fixtures/lake.ts'
import { LEAVE, leftIn } from './fixtures/left-in-duck.ts'

const pipeline = await lake(t)

/** Where work takes its turn. */
const place = (size: Partial<Pipeline> = {}) =>
  withWorkspace({ ...pipeline, ...size }, async (_, folder) => dirname(folder))

t.test('work takes turns in one place, where nothing of the turn before is left', async (t) => {
  const first = await withWorkspace(pipeline, async (duck, folder) => {
    writeFileSync(join(folder, 'lines'), '')
    await duck.run(LEAVE)
    t.equal((await leftIn(duck)).length, 9, 'all of it is seen where it is')
    return folder
  })
  t.notOk(existsSync(first))
  const second = await withWorkspace(pipeline, async (duck, folder) => {
    t.same(await leftIn(duck), [])
    t.same(readdirSync(folder), [])
    return folder
  })
  t.not(second, first)
  t.equal(dirname(second), dirname(first))
})

t.test('work at the same time has a place each', async (t) => {
  await withWorkspace(pipeline, async (duck, folder) => {
    await duck.run('create table one_of as select 1 as one')
    await withWorkspace(pipeline, async (other, otherFolder) => {
      t.not(dirname(otherFolder), dirname(folder))
      await t.resolves(other.run('create table one_of as select 2 as two'))
    })
  })
})

t.test('work has the memory and the threads that it asks for', async (t) => {
  const sizeOf = (asked: Pipeline, threads?: number) =>
    withWorkspace(
      asked,
      async (duck) =>
        (
          await duck.rows(`select current_setting('threads') as threads,
      current_setting('memory_limit') as memory`)
        )[0],
      { ...(threads && { threads }) },
    )
  const small = { ...pipeline, memoryMb: 128 }
  t.same(await sizeOf(pipeline), { threads: 2, memory: '976.5 MiB' })
  t.same(await sizeOf(small), { threads: 2, memory: '122.0 MiB' })
  t.same(await sizeOf(small, 1), { threads: 1, memory: '122.0 MiB' })
})

t.test('what did not fit into memory is gone from the disk after the work', async (t) => {
  const spilled = (place: string) => readdirSync(join(place, 'spill'))
  const place = await withWorkspace({ ...pipeline, memoryMb: 64 }, async (duck, folder) => {
    await duck.run('create table many as select uuid() as said, uuid() as again from range(3000000)')
    t.not(spilled(dirname(folder)).length, 0)
    return dirname(folder)
  })
  t.same(spilled(place), [])
})

t.test('the next work has the place of work that failed', async (t) => {
  const before = await place()
  await t.rejects(
    withWorkspace(pipeline, async (duck) => {
      await duck.run('create table half as select 1 as one')
      throw new Error('half-way')
    }),
    /half-way/,
  )
  t.equal(await place(), before)
  const tables = await withWorkspace(pipeline, (duck) => duck.rows('from duckdb_tables()'))
  t.same(tables, [])
})

t.test('a place that cannot be cleared is left, although the work succeeded', async (t) => {
  const before = await withWorkspace(pipeline, async (duck, folder) => {
    await duck.run('begin; create table half as select 1 as one')
    return dirname(folder)
  })
  t.notOk(existsSync(before))
  t.not(await place(), before)
})

t.test('a place whose folder somebody removed is left', async (t) => {
  const before = await place()
  rmSync(before, { recursive: true })
  t.not(await place(), before)
})

t.test('an erasure leaves the lock of a place alone, however old it is', async (t) => {
  const brand = await newBrand(pipeline)
  await withWorkspace(pipeline, async (_, folder) => {
    const lock = `${dirname(folder)}.lock`
    const old = new Date(Date.now() - 2 * PATIENCE.writersMs)
    utimesSync(lock, old, old)
    await sweepAfterErasure(pipeline, brand.id, PATIENCE)
    t.ok(existsSync(lock))
  })
})

t.test('a pipeline that is closed leaves nothing', async (t) => {
  await place()
  await closePipeline(pipeline)
  t.same(readdirSync(join(pipeline.lakeDir, 'tmp')), [])
  await place()
  t.same(readdirSync(join(pipeline.lakeDir, 'tmp')), [], 'nor does work that ends later')
})
