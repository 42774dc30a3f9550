import { truncateSync } from 'node:fs'
import { join } from 'node:path'
import connect from 'postgres'
import t from 'tap'
import type { Pipeline } from '../src/lake/pipeline.ts'
import { refusedLines } from '../src/lake/refused-lines.ts'
import { snapshot } from '../src/lake/snapshot.ts'
import type { Brand } from '../src/op.ts'
import { brand as newBrand } from './fixtures/brand.ts'
import { type Database, database } from './fixtures/database.ts'
import { lake, logBatch, passed, sourceRows, tick } from './fixtures/lake.ts'

const logged = t.capture(process.stderr, 'write')

/** A rule of the table that nothing before the ticks knows of. */
async function refusePoison({ url }: Database): Promise<void> {
  const owner = connect(url, { max: 1 })
  await owner`alter table identifier add constraint a_fault check (value not like 'poison%') not valid`
  await owner.end()
}

async function ticks(pipeline: Pipeline): Promise<void> {
  await passed(pipeline)
  while ((await snapshot(pipeline)).more);
}

const namesOf = async (pipeline: Pipeline, brand: Brand): Promise<unknown[]> => {
  const rows = await sourceRows(pipeline, brand, 'select event_id from events order by event_id')
  return rows.map(({ event_id }) => event_id)
}

t.test('a line that no tick can take stays behind, and all others of all brands go on', async (t) => {
  const db = await database(t)
  const pipeline = await lake(t, db)
  const { sql } = pipeline.postgres
  await refusePoison(db)
  const [one, another] = [await newBrand(pipeline), await newBrand(pipeline)]
  const event = (brand: Brand, event_id: string, email = `${event_id}@example.com`) => ({
    ...{ brand_id: brand.id, event_id, email },
  })
  await logBatch(sql, [event(one, 'a'), event(another, 'b')])
  const poison = event(one, 'c', 'poison@example.com')
  const batch = await sql.begin(async (tx) => {
    await logBatch(tx as never, [event(another, 'd'), event(one, 'e')])
    return await logBatch(tx as never, [
      event(another, 'f'),
      poison,
      event(one, 'g'),
      event(another, 'h', 'poison@example.net'),
    ])
  })
  await logBatch(sql, [event(another, 'i'), event(one, 'j')])
  await ticks(pipeline)
  t.same(await namesOf(pipeline, one), ['a', 'e', 'g', 'j'])
  t.same(await namesOf(pipeline, another), ['b', 'd', 'f', 'i'])
  const dead = await sql`
    select batch_id, line, brand_id, reason, convert_from(payload, 'UTF8')::json ->> 'event_id' as event_id
    from dead_event order by line`
  const reason = 'the lake cannot take it (23514)'
  t.same(
    [...dead],
    [
      { batch_id: batch, line: 1, brand_id: one.id, reason, event_id: 'c' },
      { batch_id: batch, line: 3, brand_id: another.id, reason, event_id: 'h' },
    ],
  )
})

/** The pipeline with a fault that nobody foresaw, for these people. */
function faulty(pipeline: Pipeline, isFatal: (subjects: readonly number[]) => boolean | Promise<boolean>) {
  const statements = pipeline.postgres.pipeline
  const run = async (name: string, args: unknown[] = []) => {
    if (name === 'contacts_of_named' && (await isFatal(args[1] as number[])))
      throw new RangeError('Maximum call stack size exceeded')
    return await statements.run(name, args)
  }
  return { ...pipeline, postgres: { ...pipeline.postgres, pipeline: { ...statements, run } } }
}

t.test('what fails on many lines at once for no known reason is halved until it does not', async (t) => {
  const pipeline = await lake(t)
  const brand = await newBrand(pipeline)
  const ids = 'abcdefghij'.split('')
  for (const id of ids)
    await logBatch(pipeline.postgres.sql, [{ brand_id: brand.id, event_id: id, email: `${id}@example.com` }])
  await ticks(faulty(pipeline, (subjects) => subjects.length > 3))
  t.same(await namesOf(pipeline, brand), ids)
})

t.test('a line that fails for no known reason stays behind, too', async (t) => {
  const pipeline = await lake(t)
  const { sql } = pipeline.postgres
  const brand = await newBrand(pipeline)
  const event = (id: string) => ({ brand_id: brand.id, event_id: id, email: `${id}@example.com` })
  await logBatch(sql, ['a', 'b', 'poison', 'c'].map(event))
  await logBatch(sql, [event('d')])
  const isPoison = async (subjects: readonly number[]) => {
    const [found] = await sql`
      select 1 from identifier where value = 'poison@example.com' and subject = any(${subjects as number[]})`
    return found !== undefined
  }
  await ticks(faulty(pipeline, isPoison))
  t.same(await namesOf(pipeline, brand), ['a', 'b', 'c', 'd'])
  const dead = await sql`select line, reason from dead_event`
  t.same([...dead], [{ line: 2, reason: 'the lake cannot take it (RangeError)' }])
})

t.test('a file of the lake that cannot be read is the fault of no event', async (t) => {
  const pipeline = await lake(t)
  const { sql } = pipeline.postgres
  const brand = await newBrand(pipeline)
  const event = (event_id: string) => ({ brand_id: brand.id, event_id, anonymous_id: 'v' })
  await logBatch(sql, [event('a')])
  await tick(pipeline)
  const [ids] = await sql`select path from lake_file where relation = 'event_ids'`
  truncateSync(join(pipeline.lakeDir, ids?.path), 20)
  await logBatch(sql, [event('b'), event('c')])
  await t.rejects(ticks(pipeline), /Invalid Input Error/)
  t.same([...(await sql`select 1 from dead_event`)], [])
})

t.test('a record that no tick can take keeps its version, and all others of all brands go on', async (t) => {
  const pipeline = await lake(t)
  const { sql } = pipeline.postgres
  const [one, another] = [await newBrand(pipeline), await newBrand(pipeline)]
  const put = async (brand: Brand, subject: number, name: string, createdAt = '2025-01-01') =>
    await sql`
      insert into customer (brand_id, subject, id, first_name, provenance, created_at)
      values (${brand.id}, ${subject}, ${subject}, ${name}, 'server', ${createdAt}::text::timestamptz)
      on conflict (brand_id, subject) do update set first_name = excluded.first_name, created_at = excluded.created_at`
  const names = async (brand: Brand) =>
    (
      await sourceRows(pipeline, brand, 'select first_name as name from customers_source order by subject')
    ).map(({ name }) => name)
  await put(one, 1, 'before')
  await ticks(pipeline)
  // Postgres reaches 30 years further than DuckDB.
  await put(one, 1, 'after', '294276-12-31')
  await put(one, 2, 'new', '294276-12-31')
  await put(one, 3, 'third')
  await put(another, 1, 'fourth')
  await ticks(pipeline)
  t.same(await names(one), ['before', 'third'])
  t.same(await names(another), ['fourth'])
  const said = logged().flatMap(({ args }) => JSON.parse(String(args[0])))
  t.match(
    said.filter(({ event }) => event === 'row_refused'),
    [
      { relation: 'customers', brand_id: one.id },
      { relation: 'customers', brand_id: one.id },
    ],
  )
})

t.test('very many lines that are refused are found in bounded time, with few beside them', async (t) => {
  const lines = 100_000
  const search = async (isPoison: (line: number) => boolean) => {
    let asked = 0
    const isRead = async (low: number, high: number) => {
      asked++
      for (let line = low; line < high; line++) if (isPoison(line)) return false
      return true
    }
    const refused = await refusedLines(lines, isRead, 300)
    for (let line = 0; line < lines; line++)
      if (isPoison(line) && !refused.has(line)) throw new Error(`${line} was not found`)
    return { asked, refused: refused.size }
  }
  const few = await search((line) => [7, 8, 99_999].includes(line))
  t.equal(few.refused, 3, 'and nothing beside few')
  const many = await search((line) => line >= 20_000 && line < 70_000)
  t.ok(many.asked < 1_000, `asked ${many.asked} times`)
  t.ok(many.refused < 51_000, `${many.refused} were left out`)
})
