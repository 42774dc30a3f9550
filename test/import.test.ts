import { spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gzipSync, zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import t, { type Test } from 'tap'
import { importCommands } from '../src/cli/import.ts'
import { eraseDue } from '../src/connect/erase/due.ts'
import { importFolder } from '../src/connect/import/folder.ts'
import { importFile } from '../src/connect/import/import.ts'
import { knownEvents } from '../src/connect/import/known-events.ts'
import type { ImportKind } from '../src/connect/import/targets.ts'
import { abandonCheckouts } from '../src/connect/store/abandon.ts'
import { requestErasure } from '../src/identity/erasure-request.ts'
import { compactBrand } from '../src/lake/compact.ts'
import { snapshotAll } from '../src/lake/horizon.ts'
import type { Brand } from '../src/op.ts'
import { brand } from './fixtures/brand.ts'
import { database } from './fixtures/database.ts'
import { importStore, inAnHour, parquet } from './fixtures/import-store.ts'
import { lake, logBatch, sourceRows } from './fixtures/lake.ts'
import { connect, storeServer } from './fixtures/store.ts'
import { order as orderBody, refund as refundBody } from './fixtures/store-bodies.ts'

const RETAIL = fileURLToPath(
  new URL('../../shared/data/online-retail/online-retail.parquet', import.meta.url),
)
const RETAIL_MAP = fileURLToPath(new URL('./fixtures/online-retail.json', import.meta.url))

t.capture(process.stderr, 'write')
const db = await database(t)
const pipeline = await lake(t, db)
const { send } = await storeServer(t, db)

const store = (t: Test) => importStore(t, pipeline)

t.test('a file imported into two brands, or as two kinds, leaves refused rows of each', async (t) => {
  const { run, file } = await store(t)
  const path = file('all.csv', 'external_id,created_at,total\n1,2025-01-01,10\n2,2025-01-01,ten\n')
  const other = await brand(db, { currency_code: 'EUR' })
  const map = { fields: { external_id: 'external_id', created_at: 'total', updated_at: 'created_at' } }
  const [first, second, kind] = [
    (await run('orders', path)).report,
    (await run('orders', path, { brand: other, map: { fields: { ...map.fields, total: 'total' } } })).report,
    (await run('customers', path, { map })).report,
  ]
  t.match([first.rejected, second.rejected, kind.rejected], [1, 2, 2])
  const files = [first, second, kind].map(({ rejects_file }) => rejects_file ?? '')
  t.equal(new Set(files).size, 3)
  const rows = files.map((one) => readFileSync(one, 'utf8').trimEnd().split('\n').length)
  t.ok(rows[0] === 1 && rows.slice(1).every((n) => n >= 2), `rows ${rows}`)
})

t.test(
  'the online-retail file gives its known answers, and again changes nothing',
  { skip: existsSync(RETAIL) ? false : 'the folder shared/data is absent' },
  async (t) => {
    const { owner, run, folder } = await store(t)
    const options = { map: RETAIL_MAP, rejectsFile: join(folder, 'rejects.ndjson') }
    const { report } = await run('orders', RETAIL, options)
    t.match(report, {
      read: 397_884,
      filtered: 144_025,
      imported: 18_532,
      unchanged: 0,
      rejected: 0,
      rejects_file: null,
    })

    const { sql } = db.postgres
    const [totals] = await sql`
    select count(*) as orders, count(distinct subject) as customers, sum(total) as revenue, sum(jsonb_array_length(lines)) as lines,
      count(*) filter (where currency_code <> 'GBP') as foreign_orders
    from store_order where brand_id = ${owner.id}`
    t.same(totals, {
      orders: 18_532,
      customers: 4_338,
      revenue: '8911407.90',
      lines: 397_884,
      foreign_orders: 0,
    })
    const top = await sql`
    select store_customer_id, sum(total) as spent, count(*) as orders
    from store_order join customer using (brand_id, subject) where brand_id = ${owner.id}
    group by 1 order by 2 desc limit 3`
    t.same(
      [...top],
      [
        { store_customer_id: '14646', spent: '280206.02', orders: 73 },
        { store_customer_id: '18102', spent: '259657.30', orders: 60 },
        { store_customer_id: '17450', spent: '194550.79', orders: 46 },
      ],
    )
    const [counts] = await sql`
    select count(*) filter (where orders >= 2) as repeated, count(*) filter (where spent >= 1000) as spenders,
      count(*) filter (where hearts) as hearts, count(*) filter (where last > '2011-12-10T00:00Z'::timestamptz - interval '90 days') as recent
    from (
      select count(*) as orders, sum(total) as spent, bool_or(lines @> '[{"product_id": "85123A"}]') as hearts, max(created_at) as last
      from store_order where brand_id = ${owner.id} group by subject
    ) customers`
    t.same(counts, { repeated: 2_845, spenders: 1_668, hearts: 856, recent: 2_889 })
    t.match((await run('orders', RETAIL, options)).report, { imported: 0, unchanged: 18_532 })
  },
)

t.test('an order without a total comes to its lines less its discount', async (t) => {
  const { file, run, orders } = await store(t)
  const row = (external_id: string, discount_total: number, line: object) =>
    JSON.stringify({ external_id, created_at: '2026-01-02', discount_total, lines: [line] })
  const rows = [
    row('1', 10, { quantity: 2, price: 50 }),
    row('2', 10, { quantity: 2, price: 50, total: 90 }),
    row('3', 200, { quantity: 2, price: 50 }),
  ]
  await run('orders', file('discounted.ndjson', rows.join('\n')))
  t.match(await orders(), [
    { subtotal: '100.00', discount_total: '10.00', total: '90.00' },
    { total: '90.00' },
    { total: '0.00' },
  ])
})

t.test(
  'lines of one order are joined by its id, and it is made at the earliest of their times',
  async (t) => {
    const { file, run, orders } = await store(t)
    const path = file(
      'lines.csv',
      `external_id,created_at,customer_external_id,line.product_id,line.title,line.quantity,line.price
007,2026-01-02 10:00:00,42,p1,"A ""mug"", blue",3,0.335
008,2026-01-02T12:00:00+02:00,43,p2,Tea,1,10
007,2026-01-02 09:30:00,42,p2,Tea,,10
`,
    )
    const { report } = await run('orders', path)
    t.match(report, { read: 3, imported: 2, unchanged: 0, rejected: 0 })
    t.match(await orders(), [
      {
        external_id: '007',
        number: '007',
        state: 'complete',
        billing_status: 'paid',
        currency_code: 'EUR',
        subtotal: '11.01',
        total: '11.01',
        created_at: new Date('2026-01-02T09:30:00Z'),
        store_customer_id: '42',
        lines: [
          {
            id: '1',
            product_id: 'p1',
            variant_id: null,
            title: 'A "mug", blue',
            sku: null,
            quantity: 3,
            price: '0.34',
            total: '1.01',
          },
          { id: '2', product_id: 'p2', quantity: 1, price: '10.00', total: '10.00' },
        ],
      },
      { external_id: '008', created_at: new Date('2026-01-02T10:00:00Z') },
    ])
  },
)

t.test('one row per order takes its lines from a nested column', async (t) => {
  const { file, run, orders } = await store(t)
  const rows = [
    {
      external_id: 1,
      created_at: '2026-01-02T10:00:00Z',
      email: ' Ann@Example.com',
      lines: [
        { id: 'a', product_id: '01', quantity: 2, price: 1.5 },
        { id: 'b', product_id: '02', total: '4.00', quantity: 2 },
      ],
    },
    { external_id: 2, created_at: '2026-01-03T10:00:00Z', total: 9.99, phone: '(415) 555-2671', lines: [] },
  ]
  const { report } = await run(
    'orders',
    file('nested.ndjson', rows.map((row) => `${JSON.stringify(row)}\n`).join('')),
  )
  t.match(report, { read: 2, imported: 2, rejected: 0 })
  t.match(await orders(), [
    {
      external_id: '1',
      total: '7.00',
      email: 'ann@example.com',
      lines: [
        { id: 'a', price: '1.50', total: '3.00' },
        { id: 'b', price: '2.00', total: '4.00' },
      ],
    },
    { external_id: '2', total: '9.99', phone: '+14155552671', lines: [] },
  ])
})

t.test('state and billing status follow from each other, from refunds and from cancelled_at', async (t) => {
  const { file, run, orders } = await store(t)
  const path = file(
    'states.csv',
    `external_id,created_at,total,state,billing_status,refunded_total,cancelled_at
a,2026-01-01,10,,,,
b,2026-01-01,10,,,4,
c,2026-01-01,10,,,10,
d,2026-01-01,10,,,,2026-01-02
e,2026-01-01,10,pending,,,
f,2026-01-01,10,,refunded,,
g,2026-01-01,10,,voided,,
h,2026-01-01,10,Complete,,4,
`,
  )
  await run('orders', path)
  t.same(
    (await orders()).map((order) => [
      order.external_id,
      order.state,
      order.billing_status,
      order.refunded_total,
    ]),
    [
      ['a', 'complete', 'paid', '0.00'],
      ['b', 'complete', 'partially_refunded', '4.00'],
      ['c', 'refunded', 'refunded', '10.00'],
      ['d', 'cancelled', 'voided', '0.00'],
      ['e', 'pending', 'pending', '0.00'],
      ['f', 'refunded', 'refunded', '10.00'],
      ['g', 'cancelled', 'voided', '0.00'],
      ['h', 'complete', 'partially_refunded', '4.00'],
    ],
  )
})

t.test(
  'a bad row is refused with its number, field, value and reason, and never without the rest of its order',
  async (t) => {
    const { file, run, orders } = await store(t)
    const path = file(
      'bad.csv',
      `external_id,created_at,line.product_id,line.quantity,line.price,state
good,2026-01-01,p,1,5,
,2026-01-01,p,1,5,
torn
half,2026-01-01,p,1,5,
half,2026-01-01,q,six,5,
late,yesterday,p,1,5,
odd,2026-01-01,p,1,5,shipped
minus,2026-01-01,p,-1,5,
part,2026-01-01,p,1.5,5,
bare,2026-01-01,p,1,,
`,
    )
    const { report, rejects } = await run('orders', path)
    t.match(report, { read: 10, imported: 1, unchanged: 0, rejected: 9 })
    t.same(
      (await orders()).map(({ external_id }) => external_id),
      ['good'],
    )
    t.match(rejects, [
      {
        row: 2,
        field: 'external_id',
        value: null,
        reason: 'is missing',
        data: { 'line.product_id': 'p', external_id: null },
      },
      { row: 3, reason: /Expected Number of Columns/, data: 'torn' },
      {
        row: 4,
        field: 'external_id',
        value: 'half',
        reason:
          /^row 5 with this id is refused, hence all of its rows: line\.quantity is not a whole number up to 2,147,483,647$/,
      },
      { row: 5, field: 'line.quantity', value: 'six', reason: 'is not a whole number up to 2,147,483,647' },
      { row: 6, field: 'created_at', value: 'yesterday', reason: /is not a time/ },
      {
        row: 7,
        field: 'state',
        value: 'shipped',
        reason: 'is not one of complete, pending, cancelled, refunded',
      },
      { row: 8, field: 'line.quantity', value: '-1', reason: 'is negative' },
      { row: 9, field: 'line.quantity', value: '1.5', reason: 'is not a whole number up to 2,147,483,647' },
      { row: 10, field: 'total', value: null, reason: 'is missing, and not every line has a price' },
    ])
  },
)

t.test('an order or a refund is never imported without a row whose form is broken', async (t) => {
  const { owner, file, run, orders } = await store(t)
  const csv = file(
    'o.csv',
    `created_at,external_id,line.title,line.price
2026-01-01,good,p,5
2026-01-01,long,p,5
2026-01-01,long,p, or not p,5
2026-01-01,short,p,5
2026-01-01,"short",5
`,
  )
  const { report, rejects } = await run('orders', csv)
  t.match(report, { read: 5, imported: 1, rejected: 4 })
  t.match(rejects[0], {
    row: 2,
    field: 'external_id',
    value: 'long',
    reason: /^row 3 with this id is refused, hence all of its rows: Expected Number of Columns/,
  })
  t.same(
    rejects.map(({ row }) => row),
    [2, 3, 4, 5],
  )
  const ndjson = file(
    'o.ndjson',
    `{"external_id":1,"created_at":"2026-01-01","line.price":5}
{"external_id":2,"created_at":"2026-01-01","line.price":5}
{"created_at":"2026-01-01", "external_id":1, "line.title":"a \\"mug\\", "line.price":5}
{"external_id":3,"created_at":"2026-01-01","line.price":5}
{"external_id":3,"created_at":"2026-01-01","line.price":NaN}
`,
  )
  t.match((await run('orders', ndjson)).report, { read: 5, imported: 1, rejected: 4 })
  t.same(
    (await orders()).map(({ external_id }) => external_id),
    ['2', 'good'],
  )

  const refunds = file('r.csv', 'n,created_at,total\na,2026-01-01,5\na,2026-01-01\nb,2026-01-01,7\n')
  const map = { fields: { external_id: 'n', created_at: 'created_at', total: 'total' } }
  t.match((await run('refunds', refunds, { map })).report, { read: 3, imported: 1, rejected: 2 })
  t.match(
    [...(await db.postgres.sql`select external_id, total from refund where brand_id = ${owner.id}`)],
    [{ external_id: 'b', total: '7.00' }],
  )
})

t.test('open quotes take no line from an order that is imported', async (t) => {
  const { file, run, orders } = await store(t)
  const rows = Array.from({ length: 30_000 }, (_, at) => `n${at},2026-01-01,Tea,1`)
  const path = file(
    'o.csv',
    `external_id,created_at,line.title,line.price
good,2026-01-01,Tea,1
open,2026-01-01,Tea,1
eaten,2026-01-01,Tea,1
${rows.join('\n')}
open,2026-01-01,"Tea,1
eaten,2026-01-01,Tea,1
`,
  )
  const map = Object.fromEntries(
    ['external_id', 'created_at', 'line.title', 'line.price'].map((name) => [name, `"${name}"`]),
  )
  const { report } = await run('orders', path, {
    map: { fields: map, where: `external_id in ('good', 'open', 'eaten')` },
  })
  t.match(report, { imported: 1, rejected: 3 })
  t.match(await orders(), [{ external_id: 'good' }])
})

t.test('a refund keeps its order where a later file names none', async (t) => {
  const { owner, file, run } = await store(t)
  const known = file('a.csv', 'external_id,created_at,total,order_external_id\nr,2026-01-01,5,o1\n')
  const orderless = file('b.csv', 'external_id,created_at,total\nr,2026-01-01,6\n')
  for (const path of [known, orderless]) t.match((await run('refunds', path)).report, { imported: 1 })
  t.match((await run('refunds', orderless)).report, { imported: 0, unchanged: 1 })
  const refunds = db.postgres.sql`select order_external_id, total from refund where brand_id = ${owner.id}`
  t.match([...(await refunds)], [{ order_external_id: 'o1', total: '6.00' }])
})

t.test(
  'a torn row whose order cannot be made out stops the import of lines, and of nothing else',
  async (t) => {
    const { file, run, orders } = await store(t)
    const rows = 'created_at,external_id,total\n2026-01-01,a,5\nend\n'
    await t.rejects(run('orders', file('lines.csv', rows.replace('total', 'line.price'))), {
      code: 'bad_request',
      message: /lines\.csv: row 2 is broken \(Expected .*\), and of which of the orders it is a part cannot/,
    })
    const map = { fields: { external_id: 'total::int', created_at: 'created_at', 'line.price': 'total' } }
    await t.rejects(run('orders', file('lines.csv', `${rows}a,b,c,d\n`), { map }), { code: 'bad_request' })
    t.same(await orders(), [])
    t.match((await run('orders', file('orders.csv', rows))).report, { imported: 1, rejected: 1 })
  },
)

t.test('a bad line of a nested list refuses its order and says where it is', async (t) => {
  const { file, run, orders } = await store(t)
  const row = (external_id: string, lines: unknown) =>
    `${JSON.stringify({ external_id, created_at: '2026-01-01', lines })}\n`
  const path = file(
    'bad.ndjson',
    `${row('a', [{ price: 1 }, { price: 'free' }])}${row('b', [
      { id: 'x', price: 1 },
      { id: 'x', price: 1 },
    ])}{"external_id":

${row('c', { price: 1 })}${row('d', [{ price: 2 }])}`,
  )
  const { report, rejects } = await run('orders', path)
  t.match(report, { read: 5, imported: 1, rejected: 4 })
  t.match(rejects, [
    { row: 1, field: 'lines[1].price', value: 'free', reason: /is not an amount/ },
    { row: 2, field: 'line.id', value: 'x', reason: /another line of the order/ },
    { row: 3, reason: 'is not a JSON object', data: '{"external_id":' },
    { row: 5, field: 'lines', reason: /is not a JSON array/ },
  ])
  t.same(
    (await orders()).map(({ external_id, total }) => [external_id, total]),
    [['d', '2.00']],
  )
})

t.test('an order with a nested line that is no object is refused', async (t) => {
  const { file, run, orders } = await store(t)
  const row = (external_id: string, lines: unknown[]) =>
    `${JSON.stringify({ external_id, created_at: '2026-01-01', total: 5, lines })}\n`
  const path = file(
    'odd.ndjson',
    row('a', ['Hat', null]) +
      row('b', [{ title: 'Hat' }, null]) +
      row('c', [{ title: 'Hat' }]) +
      row('d', []),
  )
  const { report, rejects } = await run('orders', path)
  t.match(report, { imported: 2, rejected: 2, ignored_columns: [] })
  const reason = 'holds an entry that is no object'
  t.match(rejects, [
    { row: 1, field: 'lines', value: '["Hat",null]', reason },
    { row: 2, field: 'lines', reason },
  ])
  t.same(
    (await orders()).map(({ external_id }) => external_id),
    ['c', 'd'],
  )
})

t.test('keys of nested lines that nothing is imported from are named', async (t) => {
  const { file, run } = await store(t)
  const lines = [
    { sku: 'A', name: 'Hat', unit_price: 5, qty: 3 },
    { price: 5, Title: 'Hat' },
  ]
  const row = { external_id: 1, created_at: '2026-01-01', total: 5, note: 'x', items: lines }
  const fields = { external_id: 'external_id', created_at: 'created_at', total: 'total', lines: 'items' }
  const { report } = await run('orders', file('keys.ndjson', JSON.stringify(row)), { map: { fields } })
  t.same(report.ignored_columns, [
    'note',
    'lines[].Title',
    'lines[].name',
    'lines[].qty',
    'lines[].unit_price',
  ])
})

t.test('halves of a cent go away from zero in prices as in totals', async (t) => {
  const { file, run, orders } = await store(t)
  const path = file(
    'halves.csv',
    `external_id,created_at,line.quantity,line.price,line.total
a,2026-01-01,1,1.005,
a,2026-01-01,1,2.675,
a,2026-01-01,2,,2.01
a,2026-01-01,3,,10
a,2026-01-01,0,,5
`,
  )
  await run('orders', path)
  const [{ lines = [] } = {}] = (await orders()) as { lines: { price: string; total: string }[] }[]
  t.same(
    lines.map(({ price, total }) => [price, total]),
    [
      ['1.01', '1.01'],
      ['2.68', '2.68'],
      ['1.01', '2.01'],
      ['3.33', '10.00'],
      [null, '5.00'],
    ],
  )
})

t.test('amounts beyond eleven digits and quantities beyond an integer are refused', async (t) => {
  const { file, run, orders } = await store(t)
  const head = 'external_id,created_at,total,line.quantity,line.price,line.total'
  const path = file(
    'large.csv',
    `${head}
most,2026-01-01,99999999999.99,2147483647,46,
total,2026-01-01,100000000000,,,
power,2026-01-01,1e14,,,
price,2026-01-01,1,1,100000000000,
quantity,2026-01-01,1,2147483648,1,
product,2026-01-01,1,1000000000,100,
sum,2026-01-01,,1,60000000000,
sum,2026-01-01,,1,,40000000000
`,
  )
  const { report, rejects } = await run('orders', path)
  t.match(report, { read: 8, imported: 1, rejected: 7 })
  const amount = 'is not an amount such as 1234.50, below 100,000,000,000'
  t.match(rejects, [
    { row: 2, field: 'total', value: '100000000000', reason: amount },
    { row: 3, field: 'total', value: '1e14', reason: amount },
    { row: 4, field: 'line.price', value: '100000000000', reason: amount },
    { row: 5, field: 'line.quantity', reason: 'is not a whole number up to 2,147,483,647' },
    { row: 6, field: 'line.total', value: null, reason: 'is too large as quantity × price' },
    { row: 7, field: 'total', reason: 'is too large as the sum of the lines' },
    { row: 8, field: 'external_id', reason: /^row 7 with this id is refused/ },
  ])
  t.match(await orders(), [{ external_id: 'most', total: '99999999999.99' }])

  const refunds = file(
    'refunds.csv',
    `external_id,created_at,total
1,2026-01-01,50000000000
1,2026-01-01,50000000000
2,2026-01-01,99999999999.99
`,
  )
  const refused = await run('refunds', refunds)
  t.match(refused.report, { read: 3, imported: 1, rejected: 2 })
  t.match(refused.rejects, [
    { row: 1, field: 'total', value: '100000000000.00', reason: 'is too large as the sum of the rows' },
    { row: 2, field: 'external_id' },
  ])

  const variants = (price: string) => JSON.stringify([{ id: '1', price }])
  const products = file(
    'products.ndjson',
    ['99999999999.99', '100000000000', '-1']
      .map((price, n) => `${JSON.stringify({ id: `${n}`, title: 'x', variants: variants(price) })}\n`)
      .join(''),
  )
  t.match((await run('products', products)).report, { imported: 1, rejected: 2 })
})

t.test('a changed order is updated, an older version never replaces a newer one', async (t) => {
  const { file, run, orders } = await store(t)
  const version = (day: number, total: number) =>
    file('v.csv', `external_id,created_at,updated_at,total\n1,2026-01-01,2026-01-0${day},${total}\n`)
  t.match((await run('orders', version(3, 10))).report, { imported: 1, unchanged: 0 })
  t.match((await run('orders', version(2, 99))).report, { imported: 0, unchanged: 1 })
  t.match((await run('orders', version(4, 12))).report, { imported: 1, unchanged: 0 })
  t.match(await orders(), [{ total: '12.00', updated_at: new Date('2026-01-04T00:00:00Z') }])
})

t.test('what the store said of an order stays, unless the file says that it is newer', async (t) => {
  const { file, run, orders, owner } = await store(t)
  await connect(db, owner, { connectedAt: new Date('2026-01-01') })
  await send(owner, { topic: 'orders/paid', body: orderBody({ currency: 'EUR' }) })
  const transaction = { id: 1, kind: 'refund', status: 'success', amount: '20.50', currency: 'EUR' }
  await send(owner, { topic: 'refunds/create', body: refundBody({ transactions: [transaction] }) })
  const told = { billing_status: 'partially_refunded', refunded_total: '20.50' }
  const path = file('o.csv', 'external_id,created_at,total\n1001,2026-11-20,99\n')
  t.match((await run('orders', path)).report, { imported: 0, unchanged: 1 })
  t.match(await orders(), [told])
  const dated = (day: string) =>
    file('d.csv', `external_id,created_at,updated_at,total\n1001,2026-11-20,${day},99\n`)
  t.match((await run('orders', dated('2026-11-20T10:00:00Z'))).report, { imported: 0, unchanged: 1 })
  t.match(await orders(), [told])
  t.match((await run('orders', dated('2026-11-21'))).report, { imported: 1 })
  t.match(await orders(), [{ total: '99.00', refunded_total: '0.00' }])
})

t.test('what the store said of a refund stays, whatever a file says', async (t) => {
  const { file, run, owner } = await store(t)
  await connect(db, owner, { connectedAt: new Date('2026-01-01') })
  await send(owner, { topic: 'orders/paid', body: orderBody({ currency: 'EUR' }) })
  const transaction = { id: 1, kind: 'refund', status: 'success', amount: '20.50', currency: 'EUR' }
  await send(owner, { topic: 'refunds/create', body: refundBody({ transactions: [transaction] }) })
  const path = file('r.csv', 'external_id,order_external_id,created_at,total\n30,1001,2026-11-20,0.00\n')
  t.match((await run('refunds', path)).report, { imported: 0, unchanged: 1 })
  const refunds = db.postgres.sql`select external_id, total from refund where brand_id = ${owner.id}`
  t.match([...(await refunds)], [{ external_id: '30', total: '20.50' }])
})

const refundOf = (id: number, amount: string, changes: object = {}) => ({
  id,
  order_id: 1001,
  created_at: '2026-11-20T15:00:00Z',
  transactions: [{ id, kind: 'refund', status: 'success', amount, currency: 'EUR' }],
  ...changes,
})

t.test('an imported refund adds nothing to what the store says of its order', async (t) => {
  const { file, run, orders, owner } = await store(t)
  await connect(db, owner, { connectedAt: new Date('2026-01-01') })
  const tell = (updated_at: string) =>
    send(owner, {
      topic: 'orders/updated',
      body: orderBody({ currency: 'EUR', updated_at, refunds: [refundOf(30, '20.00')] }),
    })
  await tell('2026-11-20T16:00:00Z')
  const path = file(
    'r.csv',
    `external_id,order_external_id,created_at,total,currency_code
ERP-1,1001,2026-11-20,20.00,EUR
ERP-2,1001,2026-11-20,3000,JPY
`,
  )
  t.match((await run('refunds', path)).report, { imported: 2 })
  await tell('2026-11-20T17:00:00Z')
  t.match(await orders(), [{ billing_status: 'partially_refunded', refunded_total: '20.00' }])
})

t.test('a refund in another currency than its order adds nothing to it', async (t) => {
  const { orders, owner } = await store(t)
  await connect(db, owner, { connectedAt: new Date('2026-01-01') })
  await send(owner, { topic: 'orders/paid', body: orderBody({ currency: 'USD' }) })
  await send(owner, { topic: 'refunds/create', body: JSON.stringify(refundOf(30, '20.00')) })
  t.match(await orders(), [{ billing_status: 'paid', refunded_total: '0.00' }])
})

t.test(
  'a refund that the store tells of lowers an imported order at once, whichever came first',
  async (t) => {
    const results = []
    for (const isFirst of [true, false]) {
      const { file, run, orders, owner } = await store(t)
      await connect(db, owner, { connectedAt: new Date('2026-01-01') })
      const path = file('o.csv', 'external_id,created_at,total\n1001,2026-11-20,100\n')
      const tell = () => send(owner, { topic: 'refunds/create', body: JSON.stringify(refundOf(30, '40.00')) })
      if (isFirst) await tell()
      t.match((await run('orders', path)).report, { imported: 1 })
      if (!isFirst) await tell()
      t.match((await run('orders', path)).report, { imported: 0, unchanged: 1 })
      results.push(...(await orders()))
    }
    const lowered = { state: 'complete', billing_status: 'partially_refunded', refunded_total: '40.00' }
    t.match(results, [lowered, lowered])
  },
)

t.test(
  'what a file says was refunded is not counted again with the refund that the store tells of',
  async (t) => {
    const { file, run, orders, owner } = await store(t)
    await connect(db, owner, { connectedAt: new Date('2026-01-01') })
    const path = file('o.csv', 'external_id,created_at,total,refunded_total\n1001,2026-11-20,100,20\n')
    t.match((await run('orders', path)).report, { imported: 1 })
    await send(owner, { topic: 'refunds/create', body: JSON.stringify(refundOf(30, '20.00')) })
    t.match(await orders(), [{ refunded_total: '20.00' }])
  },
)

t.test(
  'a refund after the last change that a file says an order had is added to what it says was refunded',
  async (t) => {
    const { file, run, orders, owner } = await store(t)
    await connect(db, owner, { connectedAt: new Date('2026-01-01') })
    const path = file(
      'o.csv',
      'external_id,created_at,updated_at,total,refunded_total\n1001,2026-11-20,2026-11-20T16:00:00Z,100,20\n',
    )
    t.match((await run('orders', path)).report, { imported: 1 })
    const later = refundOf(31, '5.00', { created_at: '2026-11-20T17:00:00Z' })
    for (const one of [later, refundOf(30, '20.00'), later])
      await send(owner, { topic: 'refunds/create', body: JSON.stringify(one) })
    t.match(await orders(), [{ refunded_total: '25.00' }])
  },
)

t.test('a later refund is added also to what a newer file says', async (t) => {
  const { file, run, orders, owner } = await store(t)
  await connect(db, owner, { connectedAt: new Date('2026-01-01') })
  const write = async (updated_at: string, billing: string) => {
    const head = 'external_id,created_at,updated_at,total,refunded_total,billing_status'
    const path = file('o.csv', `${head}\n1001,2026-11-20,${updated_at},100,0,${billing}\n`)
    t.match((await run('orders', path)).report, { imported: 1 })
  }
  await write('2026-11-20T16:00:00Z', 'pending')
  const later = refundOf(31, '30.00', { created_at: '2026-11-22T10:00:00Z' })
  await send(owner, { topic: 'refunds/create', body: JSON.stringify(later) })
  await write('2026-11-21', 'paid')
  const lowered = { state: 'complete', billing_status: 'partially_refunded', refunded_total: '30.00' }
  t.match(await orders(), [lowered])
  await write('2026-11-21T10:00:00Z', 'voided')
  t.match(await orders(), [{ state: 'cancelled', refunded_total: '30.00' }])
})

t.test(
  'what a newer file says of the payment stays when the store tells of a refund of nothing',
  async (t) => {
    const { file, run, orders, owner } = await store(t)
    await connect(db, owner, { connectedAt: new Date('2026-01-01') })
    await send(owner, {
      topic: 'orders/create',
      body: orderBody({ currency: 'EUR', financial_status: 'pending' }),
    })
    const path = file(
      'o.csv',
      'external_id,created_at,updated_at,total,billing_status\n1001,2026-11-20,2026-11-21,100,paid\n',
    )
    t.match((await run('orders', path)).report, { imported: 1 })
    await send(owner, {
      topic: 'refunds/create',
      body: JSON.stringify({ ...refundOf(30, '0.00'), transactions: [] }),
    })
    t.match(await orders(), [{ state: 'complete', billing_status: 'paid', refunded_total: '0.00' }])
  },
)

t.test('an order that the store removed stays hidden, whatever a file says', async (t) => {
  const { file, run, orders, owner } = await store(t)
  await connect(db, owner, { connectedAt: new Date('2026-01-01') })
  await send(owner, { topic: 'orders/delete', body: '{"id":1}' })
  await send(owner, { topic: 'orders/paid', body: orderBody() })
  await send(owner, { topic: 'orders/delete', body: '{"id":1001}' })
  const path = file(
    'o.csv',
    `external_id,created_at,updated_at,total\n1,2026-11-20,${inAnHour()},5\n1001,2026-11-20,${inAnHour()},5\n`,
  )
  t.match((await run('orders', path)).report, { imported: 2 })
  t.match((await run('orders', path)).report, { imported: 0, unchanged: 2 })
  t.match(await orders(), [{ deleted: true }, { deleted: true }])
})

t.test(
  'what the store said of checkouts, subscriptions and products stays against older files',
  async (t) => {
    const { owner, file, run } = await store(t)
    await connect(db, owner, { connectedAt: new Date('2026-01-01') })
    const tell = async (topic: string, body: object) =>
      t.match(await send(owner, { topic, body: JSON.stringify(body) }), { status: 200, body: { ok: true } })
    const day = '2026-11-20T10:00:00Z'
    const dates = { created_at: day, updated_at: day }
    await tell('checkouts/update', {
      id: 1,
      line_items: [],
      total_price: '5.00',
      completed_at: day,
      ...dates,
    })
    await tell('subscription_contracts/update', { id: 2, customer_id: 77, status: 'cancelled', ...dates })
    await tell('products/update', { id: 3, title: 'Lamp', ...dates })
    const { sql } = db.postgres
    const known = async () => [
      ...(await sql`select total::text as said, deleted from checkout where brand_id = ${owner.id}`),
      ...(await sql`select status as said, deleted from subscription where brand_id = ${owner.id}`),
      ...(await sql`select title as said, deleted from product where brand_id = ${owner.id}`),
    ]
    const before = await known()
    const imported = async (...dated: string[]) => {
      const head = dated.length ? ',updated_at' : ''
      const row = dated.map((at) => `,${at}`).join('')
      const files = {
        checkouts: `external_id,created_at${head}\n1,2026-11-20${row}\n`,
        subscriptions: `external_id,status${head}\n2,active${row}\n`,
        products: `id,title${head}\n3,Old lamp${row}\n`,
      }
      const counts: number[] = []
      for (const [kind, text] of Object.entries(files))
        counts.push((await run(kind as ImportKind, file(`${kind}.csv`, text))).report.imported)
      return counts
    }
    for (const dated of [[], [day], ['']]) {
      t.same(await imported(...dated), [0, 0, 0])
      t.same(await known(), before)
    }
    await tell('checkouts/delete', { id: 1 })
    await tell('products/delete', { id: 3 })
    t.same(await imported('2026-11-21'), [1, 1, 1])
    t.match(await known(), [
      { said: '0.00', deleted: true },
      { said: 'active', deleted: false },
      { said: 'Old lamp', deleted: true },
    ])
  },
)

t.test('a row of a subscription that does not say when it changed is known the second time', async (t) => {
  const { owner, file, run } = await store(t)
  const head = 'external_id,status,title,updated_at\n'
  const path = file('subscriptions.csv', `${head}2,active,Coffee,\n3,active,Tea,2026-11-20T10:00:00Z\n`)
  t.match((await run('subscriptions', path)).report, { imported: 2 })
  const known = async () => [
    ...(await db.postgres
      .sql`select title, updated_at from subscription where brand_id = ${owner.id} order by external_id`),
  ]
  const before = await known()
  t.match((await run('subscriptions', path)).report, { imported: 0, unchanged: 2 })
  t.strictSame(await known(), before)
  const changed = file('changed.csv', `${head}2,active,Cocoa,\n3,active,Chai,\n`)
  t.match((await run('subscriptions', changed)).report, { imported: 2 })
  t.strictSame(await known(), [
    { ...before[0], title: 'Cocoa' },
    { ...before[1], title: 'Chai' },
  ])
})

t.test(
  'what the store says of a product replaces a file that does not say when, and no newer one',
  async (t) => {
    const { owner, file, run } = await store(t)
    await connect(db, owner, { connectedAt: new Date('2026-01-01') })
    await run('products', file('undated.csv', 'id,title\n80,Old title\n'))
    await run('products', file('dated.csv', 'id,title,updated_at\n81,New title,2026-11-20\n'))
    for (const id of [80, 81])
      await send(owner, {
        topic: 'products/update',
        body: JSON.stringify({ id, title: 'Store title', updated_at: '2026-08-16T00:00:00Z' }),
      })
    t.match(await db.postgres.sql`select title from product where brand_id = ${owner.id} order by id`, [
      { title: 'Store title' },
      { title: 'New title' },
    ])
  },
)

t.test('a version of an order without a time comes after those with one, in any order of rows', async (t) => {
  const rows = ['1,2026-01-01,,100,complete,#1', '1,2026-01-01,2026-01-05,40,cancelled,']
  for (const sorted of [rows, rows.toReversed()]) {
    const { file, run, orders } = await store(t)
    const head = 'external_id,created_at,updated_at,total,state,number'
    await run('orders', file('undated.csv', [head, ...sorted].join('\n')))
    t.match(await orders(), [{ total: '40.00', state: 'cancelled', number: '#1' }])
  }
})

t.test('of several versions of an order in one file the latest is taken', async (t) => {
  const { file, run, orders } = await store(t)
  const path = file(
    'v.csv',
    'external_id,created_at,updated_at,total\n1,2026-01-01,2026-01-05,20\n1,2026-01-01,2026-01-03,10\n',
  )
  t.match((await run('orders', path)).report, { read: 2, imported: 1, rejected: 0 })
  t.match(await orders(), [{ total: '20.00' }])
})

t.test('rows of one order that do not say when it was changed are gathered', async (t) => {
  const { file, run, orders } = await store(t)
  const path = file(
    'rows.csv',
    `external_id,created_at,total,email,cancelled_at,refunded_total
1,2026-01-01T00:00:00Z,30.00,w1@example.com,2026-01-05T00:00:00Z,30.00
1,2026-01-02T00:00:00Z,30.00,,,
2,2026-01-03T00:00:00Z,5.00,,,
2,2026-01-02T00:00:00Z,,w2@example.com,,
`,
  )
  t.match((await run('orders', path)).report, { read: 4, imported: 2, rejected: 0, without_customer: 0 })
  t.match(await orders(), [
    {
      created_at: new Date('2026-01-01T00:00:00Z'),
      total: '30.00',
      email: 'w1@example.com',
      cancelled_at: new Date('2026-01-05T00:00:00Z'),
      refunded_total: '30.00',
    },
    { created_at: new Date('2026-01-02T00:00:00Z'), total: '5.00', email: 'w2@example.com' },
  ])
  t.match((await run('orders', path)).report, { imported: 0, unchanged: 2 })
})

t.test('rows of the latest version of an order are gathered with those that name no version', async (t) => {
  const { file, run, orders } = await store(t)
  const path = file(
    'rows.csv',
    `external_id,created_at,updated_at,total,number,email
1,2026-01-01,2026-01-03,10,#9,old@example.com
1,2026-01-01,2026-01-05,20,,
1,2026-01-01,2026-01-05,,#1,
1,2026-01-01,,,,new@example.com
`,
  )
  t.match((await run('orders', path)).report, { read: 4, imported: 1, rejected: 0 })
  t.match(await orders(), [
    { total: '20.00', number: '#1', email: 'new@example.com', updated_at: new Date('2026-01-05') },
  ])
})

t.test(
  'an order of several rows with nested lines has them once, and is refused where they differ',
  async (t) => {
    const { file, run, orders } = await store(t)
    const row = (external_id: string, more: object) =>
      `${JSON.stringify({ external_id, created_at: '2026-01-01', ...more })}\n`
    const lines = [{ product_id: 'p', price: 2 }]
    const path = file(
      'nested.ndjson',
      row('a', { email: 'a@example.com' }) +
        row('a', { lines }) +
        row('a', { lines }) +
        row('b', { lines }) +
        row('b', { lines: [...lines, { product_id: 'q', price: 1 }] }),
    )
    const { report, rejects } = await run('orders', path)
    t.match(report, { read: 5, imported: 1, rejected: 2 })
    t.match(await orders(), [
      { external_id: 'a', email: 'a@example.com', total: '2.00', lines: [{ product_id: 'p' }] },
    ])
    t.match(rejects, [
      { row: 4, field: 'external_id', reason: /row 5 with this id is refused/ },
      { row: 5, field: 'lines', reason: /^are other lines than row 4 has of this order/ },
    ])
  },
)

t.test('an import that is killed half-way and run again gives the same as one run', async (t) => {
  const { owner, folder, file, run, orders } = await store(t)
  const rows = Array.from({ length: 10_100 }, (_, at) => {
    const day = new Date(Date.UTC(2025, 0, 1 + (at % 300))).toISOString()
    return `${at},${day},${at % 50},c${at % 7_000}@example.com,${at % 3 ? at % 7_000 : ''}`
  })
  const path = file(
    'many.csv',
    `external_id,created_at,total,email,customer_external_id\n${rows.join('\n')}\n`,
  )
  const script = fileURLToPath(new URL('./fixtures/import-killed.ts', import.meta.url))
  const killed = spawnSync(process.execPath, [script, db.url, JSON.stringify(owner), path], {
    env: { ...process.env, TMPDIR: folder },
  })
  t.equal(killed.signal, 'SIGKILL')
  const left = () => readdirSync(folder).filter((name) => name.startsWith('recoup-import-'))
  t.equal(left().length, 2, 'its folder and the lock of it')
  const half = (await orders()).length
  t.ok(half > 0 && half < 10_100, `${half} orders`)
  const { report } = await run('orders', path)
  t.match(report, { read: 10_100, imported: 10_100 - half, unchanged: half })
  t.teardown(useTemporary(folder))
  const running = await importFolder()
  t.same(left().sort(), [basename(running.path), `${basename(running.path)}.lock`], 'what was left is gone')
  const another = await importFolder()
  t.ok(existsSync(running.path), 'what is in use stays')
  for (const one of [another, running]) await one.remove()
  t.same(left(), [])

  const once = await store(t)
  await once.run('orders', path)
  t.equal(lines(await orders()), lines(await once.orders()))
  t.equal(lines(await people(owner)), lines(await people(once.owner)))
})

/** Of thousands of rows, since tap takes seconds to compare so many objects. */
const lines = (rows: readonly object[]) => rows.map((row) => JSON.stringify(row)).join('\n')

/** Puts temporary folders elsewhere; returns what undoes it. */
function useTemporary(folder: string): () => void {
  const before = process.env.TMPDIR
  process.env.TMPDIR = folder
  return () => {
    if (before === undefined) delete process.env.TMPDIR
    else process.env.TMPDIR = before
  }
}

/** Customers without what depends on the brand. */
const people = async ({ id }: Brand) => [
  ...(await db.postgres.sql`
    select subject, store_customer_id, email, phone, provenance, created_at, redirect.customer
    from customer left join subject_redirect redirect using (brand_id, subject)
    where brand_id = ${id} order by subject`),
]

t.test('--shift-to-now moves the last moment of the file to now and keeps the distances', async (t) => {
  const { file, run, orders } = await store(t)
  const before = Date.now()
  await run(
    'orders',
    file(
      'old.csv',
      'external_id,created_at,cancelled_at,total\n1,2011-01-01,2011-01-03,1\n2,2011-01-02,,1\n',
    ),
    { shiftToNow: true },
  )
  const [one, two] = await orders()
  const last = one?.cancelled_at.getTime()
  t.ok(last >= before && last <= Date.now())
  t.equal(last - one?.created_at.getTime(), 2 * 86_400_000)
  t.equal(two?.created_at.getTime() - one?.created_at.getTime(), 86_400_000)
})

t.test('a mapping takes columns, expressions and where', async (t) => {
  const { file, run, orders } = await store(t)
  const path = file(
    'shop.csv',
    'Order ID;Day;Amount;Buyer\n#1;31/12/2025;"1,50";ann@example.com\n#2;30/12/2025;2;\nC3;1/1/2026;9;\n',
  )
  const { report } = await run('orders', path, {
    map: {
      fields: {
        external_id: 'order id',
        created_at: `strptime(Day, '%d/%m/%Y')`,
        total: `replace(Amount, ',', '.')`,
        email: 'Buyer',
      },
      where: `"Order ID" not like 'C%'`,
    },
  })
  t.match(report, { read: 2, filtered: 1, imported: 2 })
  t.match(await orders(), [
    {
      external_id: '#1',
      total: '1.50',
      created_at: new Date('2025-12-31T00:00:00Z'),
      email: 'ann@example.com',
    },
    { total: '2.00' },
  ])
})

const SECRET = fileURLToPath(new URL('../package.json', import.meta.url))
const REACHING: Record<string, (out: string) => string> = {
  'reads another file': () => `(select content from read_text('${SECRET}'))`,
  'writes a file': (out) => `'n') as value from source; copy (select 42) to '${out}'; describe select ('x'`,
  'has two values': () => `'n'), ('x'`,
  'writes a log': () => `(select count(*) from enable_logging())`,
}

for (const [what, expressionFor] of Object.entries(REACHING))
  t.test(`an expression of a mapping that ${what} is refused`, async (t) => {
    const { file, folder, run } = await store(t)
    const path = file('o.csv', 'external_id,created_at,total\n1,2026-11-01,5\n')
    const fields = { external_id: 'external_id', created_at: 'created_at', total: 'total' }
    const expression = expressionFor(join(folder, 'out.csv'))
    const code = { code: 'bad_request' }
    await t.rejects(run('orders', path, { map: { fields: { ...fields, number: expression } } }), code)
    await t.rejects(run('orders', path, { map: { fields, where: `(${expression}) is not null` } }), code)
    t.strictSame(readdirSync(folder), ['o.csv'])
  })

t.test('seconds in a column of any width are a time, the least of numbers is none', async (t) => {
  const { file, run, orders } = await store(t)
  const path = file('o.csv', 'id,day\n1,1767139200\n2,-2147483648\n')
  const widths = { integer: 'day::integer', long: 'day::bigint', exact: 'day::decimal(18, 3)' }
  for (const [name, created_at] of Object.entries(widths)) {
    const fields = { external_id: `id || '${name}'`, created_at, total: '1' }
    t.match((await run('orders', path, { map: { fields } })).report, { imported: 2 }, name)
  }
  t.same(
    (await orders()).map(({ created_at }) => created_at.toISOString()),
    [...Array(3).fill('2025-12-31T00:00:00.000Z'), ...Array(3).fill('1901-12-13T20:45:52.000Z')],
  )
  const least = { external_id: 'id', created_at: '(-9223372036854775808)::bigint', total: '1' }
  t.match(await run('orders', path, { map: { fields: least } }), {
    report: { imported: 0, rejected: 2 },
    rejects: [{ field: 'created_at', value: '-9223372036854775808' }, { row: 2 }],
  })
})

t.test('a number that is a date of another form is no time since 1970', async (t) => {
  const { file, run, orders } = await store(t)
  const numbers = [46035, 46035.5, 20260113, 202601130815, 20260113081500, 20260113081500120]
  const rows = numbers.map((created_at, n) => `${JSON.stringify({ external_id: n, created_at, total: 1 })}\n`)
  const { report, rejects } = await run('orders', file('o.ndjson', rows.join('')))
  t.match(report, { imported: 0, rejected: 6 })
  t.match(
    rejects,
    numbers.map((value, n) => ({
      field: 'created_at',
      // The last two are milliseconds and microseconds of that time.
      value: n < 4 ? `${value}` : /^2612-01-08 /,
      reason: /nor a number .* of seconds, .* since 1970/,
    })),
  )
  const widths = ['day::integer', 'day::bigint', 'day::decimal(18, 3)', 'day::float']
  for (const created_at of widths) {
    const map = { fields: { external_id: 'id', created_at, total: '1' } }
    const path = file('o.csv', 'id,day\n1,46035\n2,20260113\n')
    t.match((await run('orders', path, { map })).report, { imported: 0, rejected: 2 }, created_at)
  }
  t.same(await orders(), [])
})

t.test('seconds, milliseconds and microseconds are times, also beside times as text', async (t) => {
  const { file, run, orders } = await store(t)
  const seconds = 1767225600
  const numbers = [seconds, seconds * 1e3, seconds * 1e6, seconds + 0.5, 700_000_000]
  const rows = numbers.map((created_at, n) => `${JSON.stringify({ external_id: n, created_at, total: 1 })}\n`)
  const expected = async (path: string) => {
    t.match((await run('orders', path)).report, { rejected: 0 }, path)
    const known = (await orders()).slice(0, numbers.length)
    t.same(
      known.map(({ created_at }) => created_at.toISOString()),
      [...Array(3).fill('2026-01-01T00:00:00.000Z'), '2026-01-01T00:00:00.500Z', '1992-03-07T20:26:40.000Z'],
    )
  }
  await expected(file('numbers.ndjson', rows.join('')))
  const text = '{"external_id":9,"created_at":"2026-01-02T00:00:00Z","total":1}\n'
  await expected(file('mixed.ndjson', `${rows.join('')}${text}`))
  const odd = '{"external_id":"odd","created_at":46035,"total":1}\n'
  t.match((await run('orders', file('odd.ndjson', `${odd}${text}`))).rejects, [
    { row: 1, field: 'created_at', value: '46035' },
  ])
})

t.test(
  'a time with an abbreviation for its zone is refused, one with an offset or a full name is not',
  async (t) => {
    const { file, run, orders } = await store(t)
    const times: Record<string, string | undefined> = {
      '2026-07-13 08:15:00 BST': undefined,
      '2026-07-13 08:15:00 AST': undefined,
      '2026-07-13 08:15:00 EST5EDT': undefined,
      '2026-07-13 08:15:00 cet': undefined,
      epoch: undefined,
      '2026-07-13 08:15:00+99:00': undefined,
      '2026-07-13 08:15:00-16:00': undefined,
      '2026-07-13 08:15:00+05:60': undefined,
      '2026-07-13 08:15:00Z+02': undefined,
      '2026-07-13t08:15:00z': '08:15',
      '2026-07-13t08:15': '08:15',
      '2026-07-13T08:15:00utc': '08:15',
      '2026-07-13 08:15:00 GMT+2': '06:15',
      '2026-07-13 08:15:00GMT +02:00': '06:15',
      '2026-07-13 08:15 UTC-0530': '13:45',
      '2026-07-13 08:15:00+5:30': '02:45',
      '2026-07-13 08:15:00 Etc/GMT+2': '10:15',
      '2026-07-13 08:15:00 -0500': '13:15',
      '2026-07-13 08:15:00 -05:00': '13:15',
      '2026-07-13 08:15:00 +02': '06:15',
      '2026-07-13 08:15:00.000 +0530': '02:45',
      '2026-07-13 08:15:00-0500': '13:15',
      '2026-07-13T08:15Z': '08:15',
      '2026-07-13 08:15 +02:00': '06:15',
      '2026-07-13T08:15:00-05:00': '13:15',
      '2026-07-13 08:15:00 UTC': '08:15',
      '2026-07-13 08:15:00 GMT': '08:15',
      '2026-07-13T08:15:00Z': '08:15',
      '2026-07-13T08:15:00': '08:15',
      '2026-07-13 08:15:00 Europe/London': '07:15',
      '2026-07-13 08:15:00 America/Argentina/Buenos_Aires': '11:15',
      '2026-07-13': '00:00',
      '2026/7/13 8:15': '08:15',
    }
    const rows = Object.keys(times).map((time) => `${time},${time},1\n`)
    const { report, rejects } = await run(
      'orders',
      file('o.csv', `external_id,created_at,total\n${rows.join('')}`),
    )
    t.match(report, { imported: 24, rejected: 9 })
    t.match(rejects[0], {
      field: 'created_at',
      value: '2026-07-13 08:15:00 BST',
      reason: /a zone is an offset/,
    })
    for (const { external_id, created_at } of await orders())
      t.equal(created_at.toISOString(), `2026-07-13T${times[external_id]}:00.000Z`, external_id)
  },
)

t.test('a time that names no zone is UTC, also behind one that names a zone', async (t) => {
  const { file, run, orders } = await store(t)
  const rows = ['2026-07-13 08:15:00 America/Lima', '2026-07-13 08:15:00', '2026-07-13']
  const path = file(
    'o.csv',
    `external_id,created_at,total\n${rows.map((time, n) => `${n},${time},1\n`).join('')}`,
  )
  t.match((await run('orders', path)).report, { imported: 3 })
  t.same(
    (await orders()).map(({ created_at }) => created_at.toISOString()),
    ['2026-07-13T13:15:00.000Z', '2026-07-13T08:15:00.000Z', '2026-07-13T00:00:00.000Z'],
  )
})

t.test('a value in quotes is one however late in the file the first quotes come', async (t) => {
  const { owner, file, run } = await store(t)
  const rows = Array.from({ length: 30_000 }, (_, at) => `${at},Tea`)
  const path = file(
    'p.csv',
    ['id,title', ...rows, 'a,"A ""mug"", blue"', 'b,"Tea', 'pot"', 'c,"Tea"', ''].join('\n'),
  )
  const where = `id in ('a', 'b', 'c')`
  const { report } = await run('products', path, { map: { fields: { id: 'id', title: 'title' }, where } })
  t.match(report, { read: 3, imported: 3, rejected: 0 })
  const products = await db.postgres.sql`select title from product where brand_id = ${owner.id} order by id`
  t.same(
    products.map(({ title }) => title),
    ['A "mug", blue', 'Tea\npot', 'Tea'],
  )
})

t.test('a row is no comment because it begins with #, nor are notes above the header', async (t) => {
  const { file, run } = await store(t)
  const rows = 'id,title\n1,Tea\n2,Tea\n#3,Tea\n'
  t.match((await run('products', file('a.csv', rows))).report, { read: 3, imported: 3 })
  await t.rejects(run('products', file('b.csv', `# shop\n# today\n# all\n${rows}`)), {
    message: /No column of the file is named like a field of products/,
  })
})

t.test('a header may be written with capitals and blanks', async (t) => {
  const { owner, file, run } = await store(t)
  const path = file('a.csv', 'External_ID, Created_At,Total\no1,2026-01-01,1\n')
  t.match((await run('orders', path)).report, { imported: 1 })
  t.match(await db.postgres.sql`select external_id, total from store_order where brand_id = ${owner.id}`, [
    { external_id: 'o1', total: '1.00' },
  ])
})

t.test('of two columns the one that is named as the field fills it', async (t) => {
  const { owner, file, run } = await store(t)
  const path = file(
    'a.csv',
    'customer_external_id,External_ID,email, Email\n1,2,ann@example.com,bob@example.com\n',
  )
  t.match((await run('customers', path)).report, { imported: 1 })
  t.match(await db.postgres.sql`select store_customer_id, email from customer where brand_id = ${owner.id}`, [
    { store_customer_id: '1', email: 'ann@example.com' },
  ])
})

t.test('a mistake in a mapping is named with its place and the nearest known name', async (t) => {
  const { file, run } = await store(t)
  const path = file('a.csv', 'Order ID,Total,Day\n1,2,2026-01-01\n')
  const good = { external_id: 'Order ID', created_at: 'Day', total: 'Total' }
  const refused = (fields: Record<string, string>, message: RegExp, where?: string) =>
    t.rejects(run('orders', path, { map: { fields, where } }), { code: 'bad_request', message })
  await refused(
    { ...good, total: 'Totl' },
    /^fields\.total: "Totl" is not a column of the file\. Did you mean "Total"\? Known: Order ID, Total, Day\.$/,
  )
  await refused({ ...good, total: 'Order Id No' }, /^fields\.total: "Order Id No" is not a column/)
  await refused(
    { ...good, total: 'upper(Totl)' },
    /^fields\.total: "Totl" is not a column of the file\. Did you mean "Total"\?/,
  )
  await refused(
    { ...good, totl: 'Total' },
    /^fields\.totl: is not a field of orders\. Did you mean "total"\?/,
  )
  await refused({ ...good, total: 'Total +' }, /^fields\.total: Parser Error/)
  await refused(good, /^where: "Dy" is not a column/, `Dy > '2026'`)
  await refused(good, /^where: Binder Error: .* text: write try_cast\("column" as integer\)/, 'Total > 0')
  await refused(
    { external_id: 'Order ID', total: 'Total' },
    /^fields\.created_at: is required for orders: no column .* Columns: Order ID, /,
  )
  await refused({ external_id: 'Order ID', created_at: 'Day' }, /^fields\.total: map total, or the lines/)
  await refused({ ...good, lines: 'Total', 'line.id': 'Total' }, /^fields\.lines: map either/)
  await refused({ ...good, total: 'Day::int' }, /Conversion Error.*try_cast/)
})

t.test('a file that cannot be read is refused with its name', async (t) => {
  const { file, run } = await store(t)
  const refused = (path: string, message: RegExp) =>
    t.rejects(run('orders', path), { code: 'bad_request', message })
  await refused('/nowhere/a.csv', /a\.csv: there is no such file/)
  await refused(file('a.xlsx', 'x'), /a\.xlsx: the name must end in \.csv/)
  await refused(file('a.parquet', 'x'), /a\.parquet: cannot be read/)
  await refused(file('a.json', '[{"external_id":1}]'), /NDJSON with one object per line is wanted/)
  await refused(file('b.json', '{\n"external_id": 1\n}'), /holds no JSON object with a field; NDJSON/)
  await refused(file('b.csv', 'x,y\n1,2\n'), /No column of the file is named like a field of orders/)
  await t.rejects(run('orders', file('c.csv', 'external_id\n1\n'), { map: file('c.json', '{"fields": ') }), {
    message: /c\.json: is not valid JSON/,
  })
  const order = '{"external_id":"a","created_at":"2026-01-01","total":1}\n'
  const umlaut = Buffer.concat([Buffer.from(order), Buffer.from(order.replace('a', '\u00fc'), 'latin1')])
  await refused(file('d.ndjson', umlaut), /d\.ndjson: cannot be read: line 2: .*not utf-8 encoded/)
  const long = order.replace('a', 'x'.repeat(9_000_000))
  await refused(file('e.ndjson', order + long), /line 2: Maximum line size of 8388608 bytes exceeded/)
  await refused(
    file('f.csv', 'external_id,created_at,total\r\n1,2026-01-01,1\n2,2026-01-01,1\r\n'),
    /f\.csv: cannot be read: its form cannot be made out\. Do all of its lines end alike/,
  )
  const quoted = (title: string) =>
    file('q.csv', `external_id,created_at,total,number\n1,2026-01-01,1,${title}\n`)
  for (const wrong of ['"mug', '"a "mug""', '"a \\"mug\\""'])
    await refused(quoted(wrong), /its form cannot be made out.* are all quotes closed/)
  const excel = Buffer.from('\ufeffexternal_id\tcreated_at\ttotal\n1\t2026-01-01\t1\n', 'utf16le')
  await refused(file('g.txt', excel), /g\.txt: is UTF-16: save it as UTF-8/)
  await refused(
    file('h.ndjson', `${order}{"External_ID":"b","created_at":"2026-01-01","total":1}\n`),
    /names differ in capitals only, "(external_id" and "External_ID|External_ID" and "external_id)"/,
  )
})

t.test('a compressed file is read as what it holds, and one that is cut off is refused', async (t) => {
  const csv = 'external_id,created_at,total\n1,2026-01-01,1\n2,2026-01-01,1,too many\n3,2026-01-01,x\n'
  const ndjson =
    '{"external_id":"1","created_at":"2026-01-01","total":1}\n{"external_id":\n{"external_id":"3"}\n'
  for (const [ending, text] of Object.entries({ csv, ndjson })) {
    const compressed = { '': Buffer.from(text), '.gz': gzipSync(text), '.zst': zstdCompressSync(text) }
    for (const [added, bytes] of Object.entries(compressed)) {
      const { file, run, orders } = await store(t)
      const { report } = await run('orders', file(`a.${ending}${added}`, bytes))
      t.match(report, { read: 3, imported: 1, rejected: 2 }, `.${ending}${added}`)
      t.same(
        (await orders()).map(({ external_id }) => external_id),
        ['1'],
      )
    }
  }
  const { file, run, orders } = await store(t)
  const many = `external_id,created_at,total\n${Array.from({ length: 5_000 }, (_, n) => `${n},2026-01-01,1\n`).join('')}`
  for (const [added, bytes] of Object.entries({ gz: gzipSync(many), zst: zstdCompressSync(many) }))
    await t.rejects(run('orders', file(`b.csv.${added}`, bytes.subarray(0, bytes.length / 2))), {
      code: 'bad_request',
      message: new RegExp(`b\\.csv\\.${added}: is cut off or damaged`),
    })
  t.same(await orders(), [])
})

t.test('long integers of a field keep all digits, whatever else is in it', async (t) => {
  const { file, run, orders } = await store(t)
  const ids = ['9007199254740993', '12345678901234567890123', '1.5', '7']
  const rows = ids.map((id) => `{"external_id":${id},"created_at":"2026-01-01","total":1,"":"no name"}\n`)
  t.match((await run('orders', file('a.ndjson', rows.join('')))).report, { imported: 4, rejected: 0 })
  t.same((await orders()).map(({ external_id }) => external_id).sort(), ids.sort())
})

t.test('ids and texts of Parquet are what they say in whatever type of column', async (t) => {
  const { folder, owner, run } = await store(t)
  const path = await parquet(
    folder,
    `select * from (values
      (17850.00::decimal(18, 2), encode('Zoë'), encode('z@example.com')), (17850.50, encode('Ann'), null),
      (7, '\\x5A\\xEB'::blob, encode('bad@example.com')), (8, encode(''), null)
    ) rows (customer_external_id, first_name, email)`,
  )
  const { report, rejects } = await run('customers', path)
  t.match(report, { read: 4, imported: 3, rejected: 1 })
  t.match(rejects, [{ row: 3, field: 'first_name', value: 'Z\\xEB', reason: 'is no UTF-8 text' }])
  const known = db.postgres
    .sql`select store_customer_id, first_name, email from customer where brand_id = ${owner.id} order by 1`
  t.same(
    [...(await known)],
    [
      { store_customer_id: '17850', first_name: 'Zoë', email: 'z@example.com' },
      { store_customer_id: '17850.50', first_name: 'Ann', email: null },
      { store_customer_id: '8', first_name: null, email: null },
    ],
  )
})

t.test('an event far too large keeps none from being imported beside it', async (t) => {
  const { folder, run } = await store(t)
  const path = await parquet(
    folder,
    `select 'e' || n as event_id, 'page_viewed' as event_type, '2026-01-01' as occurred_at, 'v' as anonymous_id,
       if(n = 1, '{"text":"' || repeat('x', 17_000_000) || '"}', null) as properties
     from range(1, 4) rows (n)`,
  )
  t.match((await run('events', path)).report, { read: 3, imported: 2, rejected: 1 })
})

t.test('a whole number of sixteen digits in a column of doubles is an id without a point', async (t) => {
  const { folder, run, orders } = await store(t)
  const path = await parquet(
    folder,
    `select unnest([17850, 1234567890123456, 0.5])::double as external_id, '2026-01-01' as created_at, 1 as total`,
  )
  t.match((await run('orders', path)).report, { imported: 3, rejected: 0 })
  t.same(
    (await orders()).map(({ external_id }) => external_id),
    ['0.5', '1234567890123456', '17850'],
  )
})

t.test('ids of the store are the same however a file writes them', async (t) => {
  const { owner, file, run, orders } = await store(t)
  const { sql } = db.postgres
  const head = 'external_id,customer_external_id,created_at,total\n'
  await run('orders', file('plain.csv', `${head}990001,7,2025-01-01,5\n`))
  const written = `${head}990001.0,7.0,2025-01-01,5\ngid://shopify/Order/990001,gid://shopify/Customer/7,2025-01-01,5\n`
  t.match((await run('orders', file('written.csv', written))).report, { imported: 0, unchanged: 1 })
  await run('orders', file('other.csv', `${head}1.50,7.0.0,2025-01-01,5\n`))
  t.match(await orders(), [
    { external_id: '1.50', store_customer_id: '7.0.0' },
    { external_id: '990001', store_customer_id: '7' },
  ])
  const line = '[{""id"":""gid://shopify/LineItem/1"",""product_id"":2.0,""variant_id"":""3.0"",""price"":5}]'
  await run('orders', file('lines.csv', `external_id,created_at,lines\n5,2025-01-01,"${line}"\n`))
  t.match((await orders()).find(({ external_id }) => external_id === '5')?.lines, [
    { id: '1', product_id: '2', variant_id: '3' },
  ])
  const variants = '[{""id"":""gid://shopify/ProductVariant/3"",""price"":5}]'
  await run('products', file('products.csv', `id,title,variants\n2.0,Lamp,"${variants}"\n`))
  t.match(
    [...(await sql`select id, variants from product where brand_id = ${owner.id}`)],
    [{ id: '2', variants: [{ id: '3' }] }],
  )
})

t.test('a row whose customer is a word for none names no customer', async (t) => {
  const { owner, file, run } = await store(t)
  const words = ['NULL', '\\N', '0', 'None', 'nan', '0.0', 'undefined']
  const rows = (more: string) => words.map((word, n) => `x${n},${word},2025-01-01${more}\n`).join('')
  const head = 'external_id,customer_external_id,created_at'
  for (const [kind, text] of [
    ['orders', `${head},total\n${rows(',5')}`],
    ['refunds', `${head},total,order_external_id\n${rows(',5,NULL')}`],
    ['checkouts', `${head},anonymous_id\n${rows(',undefined')}`],
    ['subscriptions', `external_id,customer_external_id,started_at\n${rows('')}`],
  ] as const)
    t.match(
      (await run(kind, file(`${kind}.csv`, text))).report,
      { imported: words.length, without_customer: words.length, rejected: 0 },
      kind,
    )
  const events = words.map((word) => `page_viewed,2025-01-01,${word},${word},${word}\n`).join('')
  const names = 'event_type,occurred_at,customer_external_id,profile_id,anonymous_id'
  t.match((await run('events', file('events.csv', `${names}\n${events}`))).report, {
    rejected: words.length,
  })
  t.match(await db.postgres.sql`select count(*) as customers from customer where brand_id = ${owner.id}`, [
    { customers: 0 },
  ])
})

t.test('a customer whose id is a word for none is refused', async (t) => {
  const { file, run } = await store(t)
  const text = 'external_id,email\nNULL,ann@example.com\n0,bob@example.com\n,cy@example.com\n'
  const { report, rejects } = await run('customers', file('c.csv', text))
  t.match(report, { imported: 1, rejected: 2 })
  t.match(rejects, [
    { row: 1, field: 'customer_external_id', value: 'NULL', reason: /stands for no id/ },
    { row: 2, field: 'customer_external_id', value: '0', reason: /stands for no id/ },
  ])
})

t.test('a column is no field because JavaScript has a word for it', async (t) => {
  const { file, run } = await store(t)
  const path = file('a.csv', 'external_id,created_at,total,constructor\n1,2026-01-01,1,x\n')
  t.match((await run('orders', path)).report, { imported: 1, ignored_columns: ['constructor'] })
})

t.test('a name that DuckDB would take for a pattern is a plain file', async (t) => {
  const { file, run } = await store(t)
  file('a1.csv', 'external_id,created_at,total\nother,2026-01-01,1\n')
  const { report } = await run(
    'orders',
    file("a[1]*?'.csv", 'external_id,created_at,total\n1,2026-01-01,1\n'),
  )
  t.match(report, { read: 1, imported: 1 })
})

t.test('customers are made or described, and a row that names nobody is refused', async (t) => {
  const { owner, file, run } = await store(t)
  await run('orders', file('o.csv', 'external_id,created_at,total,email\n1,2025-06-01,5,ann@example.com\n'))
  const path = file(
    'c.csv',
    `customer_external_id,email,phone,first_name,tags,created_at
7,Ann@example.com,(415) 555-2671,Ann,"vip, loyal",2024-01-01
,bob@example.com,,Bob,,
8,,call me,Cy,,
,nobody,,Dan,,
,,,Eve,,
`,
  )
  const { report, rejects } = await run('customers', path)
  t.match(report, { read: 5, imported: 2, unchanged: 0, rejected: 3 })
  t.match(rejects, [
    { row: 3, field: 'phone', value: 'call me', reason: 'is not a phone number' },
    { row: 4, field: 'email', value: 'nobody', reason: 'is not an email address' },
    { row: 5, field: 'customer_external_id', reason: /is missing/ },
  ])
  t.match(
    [
      ...(await db.postgres
        .sql`select * from customer where brand_id = ${owner.id} and subject not in (select subject from subject_redirect where brand_id = ${owner.id}) order by first_name`),
    ],
    [
      {
        store_customer_id: '7',
        email: 'ann@example.com',
        phone: '+14155552671',
        first_name: 'Ann',
        tags: ['vip', 'loyal'],
        created_at: new Date('2024-01-01T00:00:00Z'),
      },
      { store_customer_id: null, email: 'bob@example.com', first_name: 'Bob', tags: [] },
    ],
  )
  t.match((await run('customers', path)).report, { imported: 0, unchanged: 2, rejected: 3 })
})

t.test('a file of customers without dates neither replaces nor outranks the store’s record', async (t) => {
  const { owner, file, run } = await store(t)
  await connect(db, owner, { connectedAt: new Date('2026-01-01') })
  const names = async () =>
    (
      await db.postgres.sql`
        select first_name, deleted from customer where brand_id = ${owner.id} order by store_customer_id`
    ).map(({ first_name, deleted }) => (deleted ? 'removed' : first_name))
  const told = (id: number, first_name: string, updated_at: string) => {
    const none = { email_marketing_consent: null, sms_marketing_consent: null }
    const record = { id, first_name, tags: '', created_at: '2026-01-01T00:00:00Z', updated_at, ...none }
    return send(owner, { topic: 'customers/update', body: JSON.stringify(record) })
  }
  await told(7, 'Ann', '2026-02-01T00:00:00Z')
  await told(9, 'Eve', '2026-02-01T00:00:00Z')
  await send(owner, { topic: 'customers/delete', body: '{"id":9}' })
  const head = 'customer_external_id,first_name,created_at'
  const path = file('c.csv', `${head}\n7,Old Ann,\n8,Old Bob,2025-01-01\n9,Old Eve,\n`)
  t.match((await run('customers', path)).report, { imported: 1, unchanged: 2 })
  t.same(await names(), ['Ann', 'Old Bob', 'removed'])
  t.match((await run('customers', path)).report, { imported: 0, unchanged: 3 })
  await told(8, 'Bob', '2026-02-01T00:00:00Z')
  t.same(await names(), ['Ann', 'Bob', 'removed'])
  await run(
    'customers',
    file('d.csv', `customer_external_id,first_name,updated_at\n9,New Eve,${inAnHour()}\n`),
  )
  t.same(await names(), ['Ann', 'Bob', 'removed'])
})

t.test(
  'an older record of a customer replaces no newer one that was never changed since it was made',
  async (t) => {
    const { owner, run, file } = await store(t)
    const told = async (name: string) => {
      const [row] = await db.postgres.sql`select first_name, email from customer where brand_id = ${owner.id}`
      t.same(row, { first_name: name, email: `${name}@example.com` })
    }
    const head = 'external_id,email,first_name,updated_at'
    await run('customers', file('new.csv', `${head}\n7,new@example.com,new,2026-05-01`))
    await told('new')
    await run('customers', file('old.csv', `${head}\n7,old@example.com,old,2025-01-01`))
    await told('new')
    await run('customers', file('newer.csv', `${head}\n7,newer@example.com,newer,2026-06-01`))
    await told('newer')
  },
)

t.test('a record that the version before wrote is one by its times', async (t) => {
  const { owner, run, file } = await store(t)
  const head = 'external_id,first_name,created_at,updated_at'
  await run('customers', file('new.csv', `${head}\n7,new,2025-01-01,2026-05-01`))
  await db.postgres.sql`update customer set has_record = false where brand_id = ${owner.id}`
  const { report } = await run('customers', file('old.csv', `${head}\n7,old,2025-01-01,2026-01-01`))
  t.match(report, { imported: 0, unchanged: 1 })
})

t.test('a file that the version before imported changes nothing, and is a record from then on', async (t) => {
  const { owner, run, file } = await store(t)
  const rows = async () => [
    ...(await db.postgres.sql`select xid, has_record from customer where brand_id = ${owner.id} order by 1`),
  ]
  const path = file('c.csv', 'external_id,first_name,updated_at\n7,Ann,2026-05-01\n8,Bob,2026-05-01')
  await run('customers', path)
  const before = await rows()
  // As the upgrade leaves them: their times do not tell.
  await db.postgres.sql`update customer set has_record = false where brand_id = ${owner.id}`
  const [{ same } = {}] = await db.postgres.sql`
    select bool_and(created_at = updated_at) as same from customer where brand_id = ${owner.id}`
  t.ok(same)
  t.match((await run('customers', path)).report, { imported: 0, unchanged: 2 })
  t.same(await rows(), before)
})

t.test('what is no email address replaces none', async (t) => {
  const { owner, file, run } = await store(t)
  const email = async () =>
    (await db.postgres.sql`select email, first_name from customer where brand_id = ${owner.id}`)[0]
  const head = 'customer_external_id,email,first_name'
  await run('customers', file('good.csv', `${head}\n7, Ann@Example.com,Ann\n`))
  const { report, rejects } = await run('customers', file('bad.csv', `${head}\n7,ann at example,Anna\n`))
  t.match(report, { imported: 0, unchanged: 0, rejected: 1 })
  t.match(rejects, [{ row: 1, field: 'email', value: 'ann at example', reason: 'is not an email address' }])
  t.match(await email(), { email: 'ann@example.com', first_name: 'Ann' })
})

t.test('an order keeps no email or phone that is none, however long', async (t) => {
  const { file, run, orders } = await store(t)
  const random = randomBytes(3_000).toString('hex')
  const { report } = await run(
    'orders',
    file(
      'o.csv',
      `external_id,created_at,total,email,phone
1,2025-01-01,5,${random},
2,2025-01-01,5,,${random}
3,2025-01-01,5,n/a,call me
4,2025-01-01,5, Ann@Example.com,(415) 555-2671
`,
    ),
  )
  t.match(report, { imported: 4, rejected: 0, without_customer: 3 })
  t.match(await orders(), [
    { email: null, phone: null },
    { email: null, phone: null },
    { email: null, phone: null },
    { email: 'ann@example.com', phone: '+14155552671' },
  ])
})

t.test('the first email of the rows of an order that is one is the order’s', async (t) => {
  const { file, run, orders } = await store(t)
  const head = 'external_id,created_at,line.price,email'
  await run('orders', file('o.csv', `${head}\n1,2025-01-01,5,n/a\n1,2025-01-01,5,ann@example.com\n`))
  t.match(await orders(), [{ email: 'ann@example.com' }])
})

t.test('what is written at once has a bound in bytes, too', async (t) => {
  const { owner, file, run } = await store(t)
  const long = 'x'.repeat(2_000_000)
  const ids = Array.from({ length: 9 }, (_, n) => n + 1)
  const rows = ids.map((id) => `${id},2025-01-01,5,${long}`)
  await run('orders', file('o.csv', ['external_id,created_at,total,discount_codes', ...rows].join('\n')))
  const tagged = ids.map((id) => `${id},${long}`)
  await run('customers', file('c.csv', ['external_id,tags', ...tagged].join('\n')))
  const [written] = await db.postgres.sql`
    select
      (select count(distinct xid) from store_order where brand_id = ${owner.id})::integer as orders,
      (select count(distinct xid) from customer where brand_id = ${owner.id})::integer as customers`
  t.same(written, { orders: 2, customers: 2 })
})

t.test('a file whose rows need more memory than there is is refused with that reason', async (t) => {
  const { file, run } = await store(t)
  const row = `1,"${'x,'.repeat(500_000)}"\n`
  const path = file('c.csv', `external_id,tags\n${row.repeat(40)}`)
  const said = /c\.csv: its rows need more memory than the 64 MB that an import has\. Split it/
  await t.rejects(run('customers', path, { memoryMb: 64 }), { code: 'bad_request', message: said })
})

t.test('products keep their variants and images, and a later row replaces an earlier one', async (t) => {
  const { owner, file, run } = await store(t)
  const rows = [
    {
      id: 1,
      title: 'Mug',
      variants: [{ id: 11, price: 4.5, sku: 'M', size: 'L' }],
      images: [{ id: 1, url: 'https://e.com/1', altText: 'a mug' }],
    },
    { id: 2, title: 'Tea', variants: [{ id: 2, price: 'free' }] },
    { id: 1, title: 'Big mug', variants: [{ id: 11, price: '5', sku: 'M' }] },
  ]
  const path = file('p.ndjson', rows.map((row) => JSON.stringify(row)).join('\n'))
  const { report, rejects } = await run('products', path)
  t.match(report, { read: 3, imported: 1, rejected: 1 })
  t.match(rejects, [{ row: 2, field: 'variants' }])
  t.match(
    [...(await db.postgres.sql`select * from product where brand_id = ${owner.id}`)],
    [
      {
        id: '1',
        title: 'Big mug',
        status: 'active',
        variants: [{ id: '11', price: '5.00', sku: 'M' }],
        images: [],
      },
    ],
  )
  t.match((await run('products', path)).report, { imported: 0, unchanged: 1 })
})

t.test('checkouts and subscriptions are about the customer that their row names', async (t) => {
  const { owner, file, run } = await store(t)
  const checkouts = file(
    'k.csv',
    'external_id,created_at,total,anonymous_id,abandoned_at\nk1,2026-01-01,12.5,v1,2026-01-02\n',
  )
  const subscriptions = file(
    's.csv',
    'external_id,customer_external_id,interval_unit,interval_count,price,started_at\ns1,9,month,2,20,2026-01-01\n',
  )
  t.match((await run('checkouts', checkouts)).report, { imported: 1, rejected: 0 })
  t.match((await run('subscriptions', subscriptions)).report, { imported: 1, rejected: 0 })
  const { sql } = db.postgres
  t.match(
    [
      ...(await sql`select checkout.*, provenance from checkout join customer using (brand_id, subject) where brand_id = ${owner.id}`),
    ],
    [{ external_id: 'k1', state: 'abandoned', total: '12.50', currency_code: 'EUR', provenance: 'pixel' }],
  )
  t.match(
    [
      ...(await sql`select subscription.*, store_customer_id from subscription join customer using (brand_id, subject) where brand_id = ${owner.id}`),
    ],
    [
      {
        external_id: 's1',
        status: 'active',
        interval_unit: 'month',
        interval_count: 2,
        price: '20.00',
        store_customer_id: '9',
      },
    ],
  )
  t.match((await run('checkouts', checkouts)).report, { imported: 0, unchanged: 1 })
  t.match((await run('subscriptions', subscriptions)).report, { imported: 0, unchanged: 1 })
})

/** Checkouts that a file told of, of which two were found abandoned since, and one of these recovered. */
async function foundCheckouts(t: Test) {
  const { owner, file, run } = await store(t)
  await connect(db, owner, { connectedAt: new Date('2026-11-01') })
  const { sql } = db.postgres
  const imported = async (...rows: string[]) => {
    const head = 'external_id,email,created_at,updated_at,completed_at'
    return (await run('checkouts', file('k.csv', [head, ...rows, ''].join('\n')))).report
  }
  const known = async () => [
    ...(await sql`
      select external_id, state, abandoned_at, completed_at from checkout where brand_id = ${owner.id} order by 1`),
  ]
  const rows = ['k1', 'k2'].map((id) => `${id},${id}@example.com,2026-11-20T10:00,2026-11-20T10:00,`)
  t.match(await imported(...rows), { imported: 2 })
  await abandonCheckouts(pipeline, new Date('2026-11-20T12:00:00Z'))
  await sql`
    update checkout set state = 'recovered', completed_at = '2026-11-20T13:00Z'
    where brand_id = ${owner.id} and external_id = 'k2'`
  return { rows, imported, known }
}

t.test('the same file again leaves what was found out of its checkouts since', async (t) => {
  const { rows, imported, known } = await foundCheckouts(t)
  const before = await known()
  t.match(before, [{ state: 'abandoned' }, { state: 'recovered' }])
  t.match(await imported(...rows), { imported: 0, unchanged: 2 })
  t.same(await known(), before)
})

t.test('a file that knows of the end of an abandoned checkout completes it', async (t) => {
  const { imported, known } = await foundCheckouts(t)
  const row = 'k1,k1@example.com,2026-11-20T10:00,2026-11-21T10:00,2026-11-21T10:00'
  t.match(await imported(row), { imported: 1 })
  const [{ abandoned_at: abandonedAt, ...checkout } = {}] = await known()
  t.ok(abandonedAt)
  t.match(checkout, { state: 'completed', completed_at: new Date('2026-11-21T10:00:00Z') })
})

/** Lines of the record batches that name a brand. */
async function logged({ id }: Brand): Promise<Record<string, unknown>[]> {
  const batches = await db.postgres.sql<
    { payload: Buffer }[]
  >`select payload from event_log order by received_at, batch_id`
  const lines = batches.flatMap(({ payload }) => zstdDecompressSync(payload).toString().trimEnd().split('\n'))
  return lines
    .map((line) => JSON.parse(line) as Record<string, unknown>)
    .filter(({ brand_id }) => brand_id === id)
}

t.test('events that were refused come in when they are good, and the others not again', async (t) => {
  const { owner, file, run } = await store(t)
  const path = file(
    'e.csv',
    `type,at,phone,mail
page_viewed,2019-05-01T10:00:00Z,,ann@example.com
page_viewed,2019-05-01T10:01:00Z,0151 23456789,
page_viewed,2019-05-01T10:02:00Z,nobody,
page_viewed,2019-05-01T10:03:00Z,0151 98765432,
`,
  )
  const map = { fields: { event_type: 'type', occurred_at: 'at', phone: 'phone', email: 'mail' } }
  const imported = async (default_phone_region: string) =>
    (await run('events', path, { map, brand: { ...owner, default_phone_region } })).report
  t.match(await imported('US'), { imported: 1, unchanged: 0, rejected: 3 })
  t.match(await imported('DE'), { imported: 2, unchanged: 1, rejected: 1 })
  t.match(await imported('DE'), { imported: 0, unchanged: 3, rejected: 1 })
  t.match(await imported('US'), { imported: 0, unchanged: 1, rejected: 3 })
  t.match(await imported('DE'), { imported: 0, unchanged: 3, rejected: 1 })
  t.same(
    (await logged(owner)).map(({ email, phone }) => email ?? phone),
    ['ann@example.com', '0151 23456789', '0151 98765432'],
  )
})

t.test('events become lines of the event log, and the same file again adds none', async (t) => {
  const { owner, file, run } = await store(t)
  const path = file(
    'e.csv',
    `type,at,visitor,mail,product,price,more
product_viewed,2019-05-01T10:00:00Z,v1,,p1,9.90,"{""page"": 12345678901234567890}"
product_viewed,2019-05-01T10:00:00Z,v1,,p1,9.90,"{""page"": 12345678901234567890}"
checkout_started,2019-05-01T10:01:00Z,v1,ANN@example.com,,,
no type,2019-05-01T10:02:00Z,v1,,,,
page_viewed,2019-05-01T10:02:00Z,,n/a,,,
page_viewed,2019-05-01T10:02:00Z,v1,,,,[1]
page_viewed,2199-05-01T10:02:00Z,v1,,,,
page_viewed,2019-05-01T10:02:00Z,,${'a'.repeat(320)}@example.com,,,
`,
  )
  const map = {
    fields: {
      event_type: 'type',
      occurred_at: 'at',
      anonymous_id: 'visitor',
      email: 'mail',
      properties: 'more',
      'properties.product_id': 'product',
      'properties.price': 'price::double',
    },
  }
  const { report, rejects } = await run('events', path, { map })
  t.match(report, { read: 8, imported: 3, unchanged: 0, rejected: 5 })
  t.match(rejects, [
    { row: 4, field: 'event_type' },
    { row: 5, reason: /names nobody/ },
    { row: 6, field: 'properties', reason: /is not a JSON object/ },
    { row: 7, field: 'occurred_at', reason: /24 hours ahead/ },
    { row: 8, reason: /names nobody/ },
  ])
  const lines = await logged(owner)
  t.match(lines, [
    {
      event_type: 'product_viewed',
      occurred_at: Date.UTC(2019, 4, 1, 10),
      anonymous_id: 'v1',
      properties: { product_id: 'p1', price: 9.9 },
    },
    { event_type: 'product_viewed' },
    { event_type: 'checkout_started', email: 'ann@example.com', properties: {} },
  ])
  t.equal(new Set(lines.map(({ event_id }) => event_id)).size, 3, 'equal rows are two events')
  t.strictNotSame(Object.keys(lines[0] ?? {}).includes('email'), true)
  t.match((await run('events', path, { map })).report, { imported: 0, unchanged: 3, rejected: 5 })
  t.equal((await logged(owner)).length, 3)
})

t.test('what the lake has of a file that has grown comes in once, however long ago it was', async (t) => {
  const { owner, run, file } = await store(t)
  const rows = ['e1,viewed,2026-01-01,a@example.com', ',viewed,2026-01-02,a@example.com']
  const grown = [...rows, 'e3,viewed,2026-01-03,a@example.com']
  const csv = (lines: string[]) =>
    file('e.csv', ['event_id,event_type,occurred_at,email', ...lines].join('\n'))
  const past = Date.now() - 20 * 86_400_000
  const { restore } = t.intercept(Date, 'now', { value: () => past })
  await run('events', csv(rows))
  restore()
  await snapshotAll(pipeline)
  const { report } = await run('events', csv(grown))
  t.match(report, { read: 3, imported: 1, unchanged: 2 })
  t.match((await run('events', csv(grown))).report, { imported: 0, unchanged: 3 })
  await snapshotAll(pipeline)
  const [kept] = await sourceRows(
    pipeline,
    owner,
    'select count(*) as rows, count(distinct event_id) as ids from events',
  )
  t.same(kept, { rows: 3, ids: 3 })
})

t.test('no row is known by the id that a page or the service chose', async (t) => {
  const { owner, run, file } = await store(t)
  const ofOthers = (['browser', 'service'] as const).map((origin) => ({
    ...{ brand_id: owner.id, event_id: 'e1', event_type: 'viewed', anonymous_id: 'v1', origin },
  }))
  await logBatch(db.postgres.sql, ofOthers)
  await snapshotAll(pipeline)
  const rows = ['e1', 'browser:e1', 'service:e1', 'sender:e1'].map(
    (id) => `${id},bought,2026-01-01,a@example.com`,
  )
  const csv = (more: string[]) =>
    file('e.csv', ['event_id,event_type,occurred_at,email', ...rows, ...more].join('\n'))
  t.match((await run('events', csv([]))).report, { imported: 4, unchanged: 0 })
  await snapshotAll(pipeline)
  const [kept] = await sourceRows(pipeline, owner, 'select count(*) as rows from events')
  t.same(kept, { rows: 6 })
  const { report } = await run('events', csv(['e5,bought,2026-01-01,a@example.com']))
  t.match(report, { imported: 1, unchanged: 4 })
})

t.test('of rows with one event id the first good one is imported', async (t) => {
  const { file, run } = await store(t)
  const said = { event_id: 'e', event_type: 'spoke', email: 'a@example.com', occurred_at: '2026-01-01' }
  const row = (properties: object) => `${JSON.stringify({ ...said, properties })}\n`
  const path = file('twice.ndjson', `${row({ constructor: 1 })}${row({ size: 1 })}${row({ size: 2 })}`)
  t.match((await run('events', path)).report, { read: 3, imported: 1, unchanged: 1, rejected: 1 })
  t.match((await run('events', path)).report, { imported: 0, unchanged: 2, rejected: 1 })
})

async function erase({ id }: Brand, email: string): Promise<void> {
  await pipeline.postgres.forBrand(id).tx((tx) => requestErasure(tx, { email }, 'a test'))
  while (await eraseDue(pipeline, { brandId: id, patience: { readersMs: 0, writersMs: 0 } }));
}

/** What `recoup import` says of a report. */
const said = (kind: ImportKind, report: object) =>
  importCommands[0]?.text?.({ kind, ...report } as never).split('\n')[0]

t.test('the rows of a report add up: repeats, refused ones and those of erased persons', async (t) => {
  const { owner, file, run } = await store(t)
  await erase(owner, 'gone@example.com')
  const header = 'event_id,event_type,occurred_at,email\n'
  const good = 'e1,viewed,2026-01-01,a@example.com\n'
  const rows = `${good}${good}e2,viewed,2026-01-01,gone@example.com\ne3,viewed,never,a@example.com\n`
  const path = file('e.csv', header + rows)
  const progress: number[][] = []
  const onProgress = (...of: number[]) => progress.push(of)
  const { report } = await run('events', path, { onProgress })
  t.match(report, { read: 4, imported: 1, unchanged: 1, of_erased: 1, rejected: 1 })
  t.same(progress, [[3, 3]])
  t.match(
    said('events', report),
    /^4 rows, of which 1 rejected \(see .*\) and 1 of persons who were erased\. The others hold 2 events: 1 imported, 1 unchanged$/,
  )
  const { report: again } = await run('events', path)
  t.match(again, { read: 4, imported: 0, unchanged: 2, of_erased: 1, rejected: 1 })
})

t.test('a report of customers tells of those who were erased', async (t) => {
  const { owner, file, run } = await store(t)
  await erase(owner, 'gone@example.com')
  const path = file('c.csv', 'external_id,email\n1,a@example.com\n2,gone@example.com\n')
  const map = { fields: { customer_external_id: 'external_id', email: 'email' } }
  t.match((await run('customers', path, { map })).report, { imported: 1, unchanged: 0, of_erased: 1 })
})

t.test('orders of who was erased are imported as of nobody', async (t) => {
  const { owner, file, run } = await store(t)
  await erase(owner, 'gone@example.com')
  const path = file('o.csv', 'external_id,created_at,total,email\n1,2025-01-01,10,gone@example.com\n')
  const { report } = await run('orders', path)
  t.match(report, { imported: 1, unchanged: 0, of_erased: 0 })
  t.equal(
    said('orders', report),
    '1 rows, of which 0 rejected. The others hold 1 orders: 1 imported, 0 unchanged',
  )
})

t.test('ids are looked up in the lake as an erasure meanwhile left it', async (t) => {
  const { owner, run, file } = await store(t)
  const csv = file(
    'e.csv',
    'event_id,event_type,occurred_at,email\ne1,viewed,2026-01-01,a@example.com\ne2,viewed,2026-01-01,b@example.com',
  )
  await run('events', csv)
  await snapshotAll(pipeline)
  await compactBrand(pipeline, owner.id, true)
  let asked = 0
  const rows = async () => {
    if (asked++ === 0) await erase(owner, 'b@example.com')
    return [{ ids: '[{"n":1,"event_id":"e1"},{"n":2,"event_id":"e9"}]' }]
  }
  const known = await knownEvents({ pipeline, brand: owner, duck: { rows: rows as never } }, [0])
  t.same([...(await known.rowsOf(0))], [1])
  t.equal(asked, 2)
  await known.close()
})

t.test('no file of events is imported beside the lake of another service', async (t) => {
  const { owner, file } = await store(t)
  const lakeDir = t.testdir({ 'service-id': 'another' })
  const csv = file('e.csv', 'event_id,event_type,occurred_at,email\ne1,viewed,2026-01-01,a@example.com')
  const imported = importFile({ pipeline: { ...pipeline, lakeDir }, brand: owner, kind: 'events', file: csv })
  await t.rejects(imported, { code: 'conflict', message: /set LAKE_DIR/ })
})

t.test('events keep their own id and their properties as they are', async (t) => {
  const { owner, file, run } = await store(t)
  const event = (properties: string) =>
    `{"event_id":"e1","event_type":"page_viewed","occurred_at":1556704800,"profile_id":"u1","properties":${properties}}\n`
  const deep = `${'{"a":'.repeat(40)}1${'}'.repeat(40)}`
  const { report, rejects } = await run(
    'events',
    file(
      'e.ndjson',
      `${event('{"n":null,"big":1.50,"s":"é"}')}${event(deep)}${event('{"n":NaN}')}${event('{"z":"\\u0000"}')}`,
    ),
  )
  t.match(report, { read: 4, imported: 1, rejected: 3 })
  t.match(rejects, [
    { row: 2, reason: /nested too deep/ },
    { row: 3, reason: 'is not a JSON object' },
    { row: 4, field: 'properties' },
  ])
  t.match(await logged(owner), [
    {
      event_id: 'e1',
      occurred_at: Date.UTC(2019, 4, 1, 10),
      profile_id: 'u1',
      properties: { n: null, big: 1.5, s: 'é' },
    },
  ])
})

t.test('an import of events that stops half-way goes on with what is missing', async (t) => {
  const { owner, file, run } = await store(t)
  const id = (at: number) => (at === 10_010 ? 'e6' : `e${at}`)
  const rows = Array.from({ length: 10_050 }, (_, at) => `${id(at)},page_viewed,2019-05-01T10:00:00Z,v${at}`)
  const path = file('e.csv', `event_id,event_type,occurred_at,anonymous_id\n${rows.join('\n')}\n`)
  const stop = () => {
    throw new Error('stopped')
  }
  await t.rejects(run('events', path, { onProgress: stop }), { message: 'stopped' })
  t.match((await run('events', path)).report, { read: 10_050, imported: 49, unchanged: 10_001 })
  t.equal((await logged(owner)).length, 10_049, 'the second row of an id is none of them')
})
