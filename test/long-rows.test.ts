import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { importFile } from '../src/connect/import/import.ts'
import type { ImportKind } from '../src/connect/import/targets.ts'
import { snapshotAll } from '../src/lake/horizon.ts'
import type { Pipeline } from '../src/lake/pipeline.ts'
import type { Brand } from '../src/op.ts'
import { brand as newBrand } from './fixtures/brand.ts'
import { type Database, database } from './fixtures/database.ts'
import { lake, sourceRows } from './fixtures/lake.ts'
import { connectedBrand, storeServer } from './fixtures/store.ts'
import { order } from './fixtures/store-bodies.ts'

t.capture(process.stderr, 'write')

let db: Database
let pipeline: Pipeline
t.before(async () => {
  db = await database(t)
  pipeline = await lake(t, db)
})

const putCustomers = (brand: Brand, names: readonly string[], tags: readonly string[] = []) =>
  db.postgres.sql`
    insert into customer (brand_id, subject, id, first_name, last_name, tags, provenance)
    select ${brand.id}, n, n, name, name, ${tags as string[]}::text[], 'server'
    from unnest(${names as string[]}::text[]) with ordinality as given (name, n)`

const putOrder = (brand: Brand, id: string, titleBytes: number) => db.postgres.sql`
  insert into store_order (brand_id, external_id, id, state, billing_status, currency_code, total, lines, created_at, updated_at)
  values (${brand.id}, ${id}, gen_random_uuid(), 'complete', 'paid', 'USD', '1.00',
    jsonb_build_array(jsonb_build_object('id', '1', 'title', repeat('x', ${titleBytes}::integer))), now(), now())`

function fileOf(t: Test, name: string, text: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'recoup-long-rows-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  writeFileSync(join(folder, name), text)
  return join(folder, name)
}

const load = (brand: Brand, kind: ImportKind, file: string) => importFile({ pipeline, brand, kind, file })

t.test('every character of a text is the same in the lake', async (t) => {
  const brand = await newBrand(db)
  const ascii = String.fromCharCode(...Array.from({ length: 127 }, (_, code) => code + 1))
  const names = [
    ascii,
    '\\N',
    '\\n\\\\t\\\\\\',
    '\\',
    '\n',
    '\t',
    '"',
    'é\ufeff\u2028😀',
    '',
    '#',
    ',',
    '\\.',
  ]
  const tags = [ascii, '\\N', '\\\\n', '"', '{,}']
  await putCustomers(brand, names, tags)
  await snapshotAll(pipeline)
  const rows = await sourceRows(
    pipeline,
    brand,
    'select first_name, last_name, email, tags from customers_source order by subject',
  )
  t.same(
    rows,
    names.map((first_name) => ({ first_name, last_name: first_name, email: null, tags })),
  )
})

t.test('texts of many lines hold up no tick', async (t) => {
  const brand = await newBrand(db)
  // Each of its lines looks like a row to who begins to read within it.
  const id = '01a205f5-388d-73a4-815b-000000000000'
  const time = '2026-01-01 00:00:00'
  const forged = `\n${id},999999,forged,,a@example.com,,,,[],server,${time},${time},f`
  const name = `A${forged.repeat(18)}\nB`
  await putCustomers(brand, Array(3_000).fill(name))
  await snapshotAll(pipeline)
  t.same(
    await sourceRows(
      pipeline,
      brand,
      'select count(*)::integer as rows, min(length(first_name))::integer as length from customers_source',
    ),
    [{ rows: 3_000, length: name.length }],
  )
})

t.test('a row that is too long for a tick is left out of it, and holds up no other', async (t) => {
  const [one, other] = [await newBrand(db), await newBrand(db)]
  await putOrder(one, 'endless', 33 << 20)
  await putOrder(one, 'long', 20 << 20)
  await putOrder(other, 'short', 10)
  await snapshotAll(pipeline)
  const orders = (brand: Brand) =>
    sourceRows(
      pipeline,
      brand,
      'select external_id, length(lines[1].title)::integer as title from orders_source',
    )
  t.same(await orders(one), [{ external_id: 'long', title: 20 << 20 }])
  t.same(await orders(other), [{ external_id: 'short', title: 10 }])
})

t.test('an order of a store that is longer than a row should be is kept as unreadable', async (t) => {
  const { send } = await storeServer(t, db)
  const brand = await connectedBrand(db, { connectedAt: new Date() })
  const line = { product_id: 'p'.repeat(255), variant_id: 'v'.repeat(255), price: '1.00', quantity: 1 }
  const line_items = Array.from({ length: 3_400 }, (_, id) => ({ id, ...line }))
  const body = order({ line_items })
  t.ok(Buffer.byteLength(body) < 2 << 20)
  t.match(await send(brand, { topic: 'orders/paid', body }), {
    body: { ok: false, reason: 'dead_letter', message: /at most 2 MB/ },
  })
})

t.test('a number of hundreds of digits that is short where it is sent is neither id nor text', async (t) => {
  const { send } = await storeServer(t, db)
  const brand = await connectedBrand(db, { connectedAt: new Date() })
  for (const [name, value] of [
    ['id', '1e254'],
    ['sku', '1e308'],
  ]) {
    const item = { id: 1, price: '1.00', quantity: 1, [name as string]: 'NUMBER' }
    // An id beyond 2^53 has the whole body read with every digit.
    const body = order({ line_items: [item] })
      .replace('"NUMBER"', value as string)
      .replace('"id":1001', '"id":9007199254740993')
    const answer = await send(brand, { topic: 'orders/paid', body })
    t.match(answer, { body: { ok: false, reason: 'dead_letter', message: new RegExp(`${name} must be`) } })
  }
})

t.test('an imported order whose lines come to more than a row should hold is refused whole', async (t) => {
  const brand = await newBrand(db)
  const lines = Array.from({ length: 20_000 }, (_, n) => `1,2026-01-01,${n},Widget,1,2.50\n`)
  const head = 'external_id,created_at,line.id,line.title,line.quantity,line.price\n'
  const file = fileOf(t, 'o.csv', `${head}${lines.join('')}2,2026-01-01,1,Widget,1,2.50\n`)
  t.match(await load(brand, 'orders', file), { imported: 1, rejected: 20_000 })
})

t.test('an imported product or customer that holds more than a row should is refused', async (t) => {
  const brand = await newBrand(db)
  const variants = Array.from({ length: 10_000 }, (_, id) => ({ id, sku: 's'.repeat(250) }))
  const products = [
    { id: 1, title: 'a', variants },
    { id: 2, title: 'b' },
  ].map((row) => JSON.stringify(row))
  const product = fileOf(t, 'p.ndjson', products.join('\n'))
  t.match(await load(brand, 'products', product), { imported: 1, rejected: 1 })
  const tags = Array.from({ length: 10_000 }, (_, n) => `${n}${'t'.repeat(250)}`)
  const customers = [{ email: 'a@example.com', tags }, { email: 'b@example.com' }].map((row) =>
    JSON.stringify(row),
  )
  const customer = fileOf(t, 'c.ndjson', customers.join('\n'))
  t.match(await load(brand, 'customers', customer), { imported: 1, rejected: 1 })
})

t.test('an imported event is one line of the log, however its properties are laid out', async (t) => {
  const brand = await newBrand(db)
  const properties = '{\r\n\t""product_id"": ""p1"",\r""text"": ""a\\nb"",\n""big"": 12345678901234567890\n}'
  const file = fileOf(
    t,
    'e.csv',
    `event_type,occurred_at,email,properties\nviewed,2026-01-01,a@example.com,"${properties}"\n`,
  )
  t.match(await load(brand, 'events', file), { imported: 1, rejected: 0 })
  await snapshotAll(pipeline)
  const [event] = await sourceRows(
    pipeline,
    brand,
    "select product_id, properties ->> 'text' as text, properties ->> 'big' as big from events",
  )
  t.match(event, { product_id: 'p1', text: 'a\nb', big: '12345678901234567890' })
})
