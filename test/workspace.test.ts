import { existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'
import { closePipeline, type Pipeline } from '../src/lake/pipeline.ts'
import { withWorkspace } from '../src/lake/workspace.ts'
import { lake } from './fixtures/lake.ts'

const pipeline = await lake(t)

/** Where work takes its turn. */
const place = (size: Partial<Pipeline> = {}) =>
  withWorkspace({ ...pipeline, ...size }, async (_, folder) => dirname(folder))

t.test('work takes turns in one place, where nothing of the turn before is left', async (t) => {
  const first = await withWorkspace(pipeline, async (duck, folder) => {
    writeFileSync(join(folder, 'lines'), '')
    await duck.run(`
      create table kept as select 1 as one; create temp table kept_temp as from kept; create schema kept_schema;
      create macro kept_macro() as 1; create type kept_type as enum ('a'); set variable kept_variable = 1;
      attach ':memory:' as kept_database`)
    return folder
  })
  t.notOk(existsSync(first))
  const second = await withWorkspace(pipeline, async (duck, folder) => {
    const [row] = await duck.rows(`
      select
        (select count(*) from duckdb_tables() where table_name like 'kept%') as tables,
        (select count(*) from duckdb_schemas() where schema_name like 'kept%') as schemas,
        (select count(*) from duckdb_types() where type_name like 'kept%') as types,
        (select count(*) from duckdb_functions() where function_name like 'kept%') as macros,
        (select count(*) from duckdb_databases() where database_name like 'kept%') as databases,
        getvariable('kept_variable') as variable`)
    t.same(row, { tables: 0, schemas: 0, types: 0, macros: 0, databases: 0, variable: null })
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

t.test('a pipeline that is closed leaves nothing', async (t) => {
  await place()
  await closePipeline(pipeline)
  t.same(readdirSync(join(pipeline.lakeDir, 'tmp')), [])
  await place()
  t.same(readdirSync(join(pipeline.lakeDir, 'tmp')), [], 'nor does work that ends later')
})
