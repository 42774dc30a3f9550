import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { openRowFile } from '../src/lake/row-file.ts'
import { lookedUpTables } from '../src/lake/serving.ts'
import { writeRows } from '../src/lake/write-rows.ts'
import { KINDS, READ } from '../src/model/published-columns.ts'
import { openDuck } from '../src/store/duckdb.ts'
import { randomSource } from './fixtures/random.ts'

const CUSTOMERS = 1_000
const random = randomSource(t)
const folder = t.testdir()
const duck = await openDuck({ memoryMb: 256, threads: 2, tempDir: join(folder, 'tmp') })
t.teardown(() => duck.close())
// As the sessions that publish have it.
await duck.run('set preserve_insertion_order = false')

const SETTING = {
  name: 'main.setting',
  select: 'select customer, text, note, tags, total, "at", share, is_new, count, "set" from setting',
}
const BOUGHT = { name: 'main.bought', select: 'select customer, product from bought' }

/** No two of them next to each other, with texts of all kinds and any number of rows of the second table. */
async function fill(): Promise<void> {
  const texts = random.list(50, 50, () => random.text(12).toWellFormed().replaceAll('\0', ''))
  await duck.run('create table texts as select unnest(from_json($1, \'["varchar"]\')) as text', [
    JSON.stringify(texts),
  ])
  await duck.run('create table numbered as select text, (row_number() over ())::integer as n from texts')
  const text = (n: string) => `(select text from numbered where n = 1 + (${n})::integer % ${texts.length})`
  await duck.run(
    `create table setting as
     select (n * 3)::integer as customer, ${text('n')} as text,
            case when n % 3 > 0 then ${text('n * 7')} end as note,
            case when n % 2 = 0 then [${text('n * 5')}, 'x'] else [] end::varchar[] as tags,
            (n * 1.1)::decimal(18, 2) as total,
            case when n % 5 > 0 then timestamp '2026-01-02 03:04:05.678' + to_hours(n::integer) end as "at",
            n / 7.0::double as share, n % 2 = 0 as is_new, n * 1000000000 as count,
            json_object('a', ${text('n * 3')}) as "set"
     from range(1, ${CUSTOMERS}) as customers (n) order by hash(n)`,
  )
  await duck.run(
    `create table bought as
     select (n * 3)::integer as customer, 'product ' || product || repeat('x', n % 200) as product
     from range(1, ${CUSTOMERS}) as customers (n), range(0, 120) as products (product)
     where hash(n) % 7 * product < 100 and product < hash(n) % 121 order by hash(n * product)`,
  )
}

const sorted = (rows: readonly object[]) => rows.map((row) => JSON.stringify(row)).sort()

await fill()

t.test('each customer has the rows of both tables, whatever is in them', async (t) => {
  const path = join(folder, 'both.rows')
  const addIndex = await writeRows(duck, path, [SETTING, BOUGHT], null)
  const hash = await addIndex()
  t.same(hash, createHash('sha256').update(readFileSync(path)).digest())
  const file = await openRowFile(path)
  const found: Record<string, object[]> = { 'main.setting': [], 'main.bought': [] }
  for (let customer = 0; customer <= CUSTOMERS * 3 + 1; customer++) {
    const rows = await file.rows(customer)
    for (const [table, all] of Object.entries(found)) {
      const theirs = rows(table)
      if (customer % 3 && theirs.length) t.fail(`customer ${customer} is nobody`)
      all.push(...theirs)
    }
    if (file.replaces(customer)) t.fail('nobody is replaced')
  }
  for (const { name, select } of [SETTING, BOUGHT]) {
    const all = sorted(await duck.rows(select))
    t.ok(all.length >= CUSTOMERS - 1, name)
    t.strictSame(sorted(found[name] ?? []), all, name)
  }
  const rows = await file.rows(3)
  t.throws(() => rows('main.none'), { message: 'no rows of main.none are published' })
  await file.close()
})

t.test('changes say whose rows they replace, also of those who have none any more', async (t) => {
  await duck.run('create table replaced as select unnest([30, 6, 9, 100, null]) as customer')
  const path = join(folder, 'changes.rows')
  const few = { ...BOUGHT, select: `${BOUGHT.select} semi join replaced using (customer)` }
  const addIndex = await writeRows(duck, path, [few], 'replaced')
  await addIndex()
  const file = await openRowFile(path)
  const replaced = Array.from({ length: 200 }, (_, customer) => customer).filter(file.replaces)
  t.same(replaced, [6, 9, 30, 100])
  t.same((await file.rows(100))('main.bought'), [])
  t.same([file.has('main.bought'), file.has('main.setting')], [true, false])
  await file.close()
})

t.test('tables without rows are found empty', async (t) => {
  const path = join(folder, 'empty.rows')
  const addIndex = await writeRows(duck, path, [{ ...SETTING, select: `${SETTING.select} limit 0` }], null)
  await addIndex()
  const file = await openRowFile(path)
  for (const customer of [0, 3, 1e9]) t.same((await file.rows(customer))('main.setting'), [])
  await file.close()
})

t.test('a type that JSON does not hold exactly is refused', async (t) => {
  const dated = { name: 'main.dated', select: `select 1 as customer, date '2026-01-01' as day` }
  await t.rejects(writeRows(duck, join(folder, 'dated.rows'), [dated], null), {
    message: 'main.dated.day: a DATE cannot be looked up',
  })
})

/** Types that models may give columns, each with a value. */
const VALUES: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    ['', 'U'].flatMap((sign) =>
      ['TINYINT', 'SMALLINT', 'INTEGER', 'BIGINT', 'HUGEINT'].map((type) => [`${sign}${type}`, '7']),
    ),
  ),
  FLOAT: '0.1',
  DOUBLE: '0.1',
  BOOLEAN: 'true',
  VARCHAR: "'x'",
  'VARCHAR[]': "['x']",
  JSON: `'{"a":1}'`,
  'DECIMAL(18,2)': '1.10',
  'DECIMAL(38,2)': '1.10',
  TIMESTAMP: "'2026-01-02 03:04:05.678'",
}
/** Of orders nothing but their number is looked up. */
const lookedUpKinds = new Set(
  lookedUpTables.filter((table) => table !== 'orders').flatMap((table) => Object.values(READ[table] ?? {})),
)

for (const kind of lookedUpKinds)
  t.test(`every type that refreshes take for ${KINDS[kind].what} is looked up`, async (t) => {
    const types = Object.keys(VALUES).filter((type) => KINDS[kind].type.test(type))
    t.ok(types.length > 0)
    for (const type of types) {
      const path = join(folder, 'typed.rows')
      const typed = { name: 'main.typed', select: `select 1 as customer, ${VALUES[type]}::${type} as value` }
      const addIndex = await writeRows(duck, path, [typed], null)
      await addIndex()
      const file = await openRowFile(path)
      t.strictSame((await file.rows(1))('main.typed'), await duck.rows(typed.select), type)
      await file.close()
    }
  })
