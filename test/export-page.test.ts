import { join } from 'node:path'
import t, { type Test } from 'tap'
import { tooMuch } from '../src/lake/too-much.ts'
import type { Db, Reader } from '../src/op.ts'
import { exportPage } from '../src/segment/export.ts'
import type { MemberPlace } from '../src/segment/member-page.ts'
import { openDuck } from '../src/store/duckdb.ts'

const MEMBERS = 10_001
const LIMIT = 10_000
const nobody = { many: async () => [] } as Pick<Db, 'many'>

/** Results with members on each of whom `properties` are set, read with as much memory as those of a brand. */
async function published(t: Test, properties: string): Promise<Reader> {
  const folder = t.testdir()
  const base = join(folder, 'base.duckdb')
  const open = async (memoryMb: number) => {
    const duck = await openDuck({ memoryMb, threads: 2, tempDir: join(folder, 'tmp') })
    t.teardown(() => duck.close())
    return duck
  }
  const writer = await open(1024)
  await writer.run(`
    attach '${base}' as base;
    create table base.customers as
    select n::integer as customer, format('id{:06d}', n) as customer_id, n::integer as position, 'pixel' as provenance,
      null::varchar as email, null::varchar as phone, null::varchar as first_name, null::varchar as last_name,
      null::varchar as store_customer_id, timestamp '2026-01-01' as created_at, null::timestamp as last_event_at
    from range(1, ${MEMBERS + 1}) as people (n);
    create table base.profile_properties as
    select customer, ${properties} as properties from base.customers;
    create table base.customer_marks as select position, customer_id from base.customers where position % 1024 = 1;
    detach base`)
  const duck = await open(256)
  await duck.run(`
    attach '${base}' as base (read_only);
    create view base_members as select 0 as segment, position, created_at as joined_at from base.customers;
    create view customer_marks as from base.customer_marks;
    create view profile_properties as from base.profile_properties;
    create table replaced_positions (position integer);
    create schema changes;
    create table changes.customers as from base.customers limit 0;
    create table changes.members (segment integer, position integer, customer integer, joined_at timestamp)`)
  const rows: Reader['rows'] = (...asked) => duck.rows<never>(...asked).catch(tooMuch)
  return { rows, generation: 1 }
}

async function walk(served: Reader) {
  const pages: string[] = []
  for (let at: MemberPlace | null = { after: '' }; at; ) {
    const page = await exportPage(served, nobody, { ordinal: 0, ...at, limit: LIMIT, shopDomain: 'shop' })
    pages.push(page.lines)
    at = page.next
  }
  return pages
}

const linesOf = (pages: readonly string[]) =>
  pages
    .flatMap((page) => page.trimEnd().split('\n'))
    .map((line) => JSON.parse(line) as Record<string, string>)

/** Of 4 KB, which any page may send. */
const LONG = `list_transform(range(128), lambda n: md5((customer * 1000 + n)::varchar)).list_aggregate('string_agg', '')`

t.test('a segment of people with places that no place is called is exported, each cut short', async (t) => {
  const places = ['city', 'countryName', 'zipCode']
  const properties = places.map((name) => `'${name}', ${LONG}`).join(', ')
  const lines = linesOf(await walk(await published(t, `json_object(${properties})::json`)))
  t.equal(new Set(lines.map(({ id }) => id)).size, MEMBERS)
  t.equal(lines.length, MEMBERS)
  for (const place of places) t.ok(lines.every((line) => line[place]?.length === 200))
})

const ORDINARY = `json_object('city', 'Wien')::json`

t.test('pages of which more would take too much memory are shorter', async (t) => {
  const served = await published(t, ORDINARY)
  const rows: Reader['rows'] = async (statement, values = []) =>
    values.length > 5 && Number(values[4]) > 3_000
      ? tooMuch(new Error('Out of Memory Error: failed'))
      : served.rows(statement, values)
  const lines = linesOf(await walk({ ...served, rows }))
  t.equal(new Set(lines.map(({ id }) => id)).size, MEMBERS)
  t.equal(lines.length, MEMBERS)
})

t.test('one line that takes too much memory is an error', async (t) => {
  const served = await published(t, ORDINARY)
  const rows: Reader['rows'] = async (statement, values = []) =>
    values.length > 5 ? tooMuch(new Error('Out of Memory Error: failed')) : served.rows(statement, values)
  await t.rejects(walk({ ...served, rows }), { code: 'unavailable' })
})

t.test('pages of ordinary people have as many lines as were asked for', async (t) => {
  const pages = await walk(await published(t, ORDINARY))
  t.strictSame(
    pages.map((page) => page.split('\n').length - 1),
    [LIMIT, 1],
  )
})
