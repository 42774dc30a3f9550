import { gzipSync, zstdCompressSync } from 'node:zlib'
import t, { type Test } from 'tap'
import { database } from './fixtures/database.ts'
import { importStore, inAnHour, parquet } from './fixtures/import-store.ts'
import { lake } from './fixtures/lake.ts'
import { connect, storeServer } from './fixtures/store.ts'
import { order } from './fixtures/store-bodies.ts'

/** Files as spreadsheets, other stores and databases write them. */
t.capture(process.stderr, 'write')
const db = await database(t)
const pipeline = await lake(t, db)
const { sql } = db.postgres
const { send } = await storeServer(t, db)
const store = (t: Test) => importStore(t, pipeline)

t.test('an id that a spreadsheet or a column of doubles rounded is refused', async (t) => {
  const { run, file, folder, orders } = await store(t)
  const text = 'external_id,customer_external_id,total,created_at\n'
  const reason = /lost its digits/
  const path = file(
    'o.csv',
    `${text}5.61E+12,1,1,2026-11-01\n"5,61E+12",1,1,2026-11-01\n3,7e+15,1,2026-11-01\n1e10,5e3,1,2026-11-01\n`,
  )
  t.match((await run('orders', path)).rejects, [
    { row: 1, field: 'external_id', value: '5.61E+12', reason },
    { row: 2, field: 'external_id', value: '5,61E+12', reason },
    { row: 3, field: 'customer_external_id', value: '7e+15', reason },
  ])
  t.match(await orders(), [{ external_id: '1e10', store_customer_id: '5e3' }])
  for (const [type, exact, rounded] of [
    ['double', 9_007_199_254_740_991n, 9_007_199_254_740_993n],
    ['double', 123n, 90_071_992_547_409_931n],
    ['float', 16_777_215n, 16_777_217n],
  ] as const) {
    const query = `select unnest([${exact}, ${rounded}])::${type} as external_id, 1 as total, '2026-11-01' as created_at`
    const { report, rejects } = await run('orders', await parquet(folder, query))
    t.match([report.imported, rejects], [1, [{ row: 2, field: 'external_id', reason }]], `${type} ${rounded}`)
    t.ok((await orders()).some(({ external_id }) => external_id === String(exact)))
  }
})

t.test('the store’s id of something else than a customer is refused as whose a row is', async (t) => {
  const { run, file, orders } = await store(t)
  const rows = ['gid://shopify/Order/1,gid://shopify/Customer/77', '2,gid://shopify/Order/77']
  const path = file(
    'o.csv',
    `external_id,customer_external_id,total,created_at\n${rows.map((row) => `${row},1,2026-11-01\n`).join('')}`,
  )
  t.match((await run('orders', path)).rejects, [
    {
      ...{ row: 2, field: 'customer_external_id', value: 'gid://shopify/Order/77' },
      reason: 'is the id of something else than a customer',
    },
  ])
  t.match(await orders(), [{ external_id: '1', store_customer_id: '77' }])
})

t.test('an object or a list is no id', async (t) => {
  const { run, file, folder } = await store(t)
  const row = (external_id: unknown) =>
    `${JSON.stringify({ external_id, total: 1, created_at: '2026-11-01' })}\n`
  const reason = 'is an object or a list, no id'
  t.match((await run('orders', file('o.ndjson', row({ a: 1 }) + row([1]) + row(2)))).rejects, [
    { row: 1, field: 'external_id', reason },
    { row: 2, field: 'external_id', reason },
  ])
  const rows = await parquet(folder, `select [1] as external_id, 1 as total, '2026-11-01' as created_at`)
  t.match((await run('orders', rows)).rejects, [{ row: 1, field: 'external_id', reason }])
})

t.test('digits that are marked as a text for spreadsheets are the id', async (t) => {
  const { run, file, orders } = await store(t)
  const path = file(
    'o.csv',
    `external_id,customer_external_id,total,created_at\n'0071,'77,1,2026-11-01\n"=""0072""","=""78""",1,2026-11-01\n'x,'o'neill,1,2026-11-01\n`,
  )
  t.match((await run('orders', path)).report, { imported: 3, rejected: 0 })
  t.match(
    (await orders()).map(({ external_id, store_customer_id }) => [external_id, store_customer_id]),
    [
      ["'x", "'o'neill"],
      ['0071', '77'],
      ['0072', '78'],
    ],
  )
})

t.test('words for no value are none, and Null is a name', async (t) => {
  const { run, file, owner } = await store(t)
  const words = ['NULL', 'null', '\\N', '#N/A', 'N/A', 'NaN', 'None', 'undefined']
  const header = 'email,first_name,last_name,phone,created_at,email_consent\n'
  const rows = words.map((word, at) => `n${at}@example.com,${word},Null,${word},${word},${word}\n`)
  t.match((await run('customers', file('c.csv', header + rows.join('')))).report, {
    imported: words.length,
    rejected: 0,
  })
  const names = await sql`
    select distinct first_name, last_name, phone from customer where brand_id = ${owner.id}`
  t.same([...names], [{ first_name: null, last_name: 'Null', phone: null }])
})

t.test('a row of what has not been is refused', async (t) => {
  const { run, file } = await store(t)
  const reason = 'is more than 24 hours ahead'
  for (const [kind, header, row, field] of [
    ['orders', 'external_id,total,created_at', '1,1,2099-01-01', 'created_at'],
    ['orders', 'external_id,total,created_at,updated_at', '1,1,2026-11-01,2099-01-01', 'updated_at'],
    ['refunds', 'external_id,total,created_at', '1,1,2099-01-01', 'created_at'],
    ['customers', 'email,updated_at', 'a@example.com,2099-01-01', 'updated_at'],
    ['customers', 'email,created_at', 'a@example.com,2099-01-01', 'created_at'],
    ['products', 'id,title,updated_at', '1,Hat,2099-01-01', 'updated_at'],
    ['checkouts', 'external_id,created_at', '1,2099-01-01', 'created_at'],
    ['subscriptions', 'external_id,updated_at', '1,2099-01-01', 'updated_at'],
  ] as const) {
    const { report, rejects } = await run(kind, file(`${kind}.csv`, `${header}\n${row}\n`))
    t.match([report.imported, rejects], [0, [{ row: 1, field, reason }]], `${kind} ${field}`)
  }
})

t.test('one version of an order that has not been leaves none of it', async (t) => {
  const { run, file, orders } = await store(t)
  const path = file(
    'o.csv',
    'external_id,total,created_at,updated_at\n1,1,2026-11-01,2026-11-02\n1,2,2026-11-01,2099-01-01\n',
  )
  t.match((await run('orders', path)).report, { imported: 0, rejected: 2 })
  t.same(await orders(), [])
})

t.test('a subscription that starts later is taken', async (t) => {
  const { run, file } = await store(t)
  const path = file('s.csv', 'external_id,started_at,next_billing_at\n1,2099-01-01,2099-02-01\n')
  t.match((await run('subscriptions', path)).report, { imported: 1, rejected: 0 })
})

t.test('what a file dates an hour ahead keeps out no word of the store', async (t) => {
  const { run, file, orders, owner } = await store(t)
  await connect(db, owner, { connectedAt: new Date('2026-01-01') })
  const ahead = inAnHour()
  const orderFile = file('o.csv', `external_id,total,created_at,updated_at\n1001,999,2026-11-20,${ahead}\n`)
  const others = [
    ['orders', orderFile],
    ['customers', file('c.csv', `customer_external_id,first_name,updated_at\n9,Old,${ahead}\n`)],
    ['products', file('p.csv', `id,title,updated_at\n3,Old,${ahead}\n`)],
    ['checkouts', file('k.csv', `external_id,total,created_at,updated_at\n5,999,2026-11-20,${ahead}\n`)],
    ['subscriptions', file('s.csv', `external_id,title,updated_at\n2,Old,${ahead}\n`)],
  ] as const
  for (const [kind, path] of others) t.match((await run(kind, path)).report, { imported: 1 }, kind)
  const updated_at = new Date().toISOString()
  const dates = { created_at: '2026-11-20T10:00:00Z', updated_at }
  for (const [topic, body] of [
    ['orders/updated', JSON.parse(order({ updated_at, total_price: '55.00' }))],
    ['customers/update', { id: 9, first_name: 'New', ...dates }],
    ['products/update', { id: 3, title: 'New', ...dates }],
    ['checkouts/update', { id: 5, line_items: [], total_price: '55.00', ...dates }],
    ['subscription_contracts/update', { id: 2, customer_id: 77, status: 'paused', ...dates }],
  ] as const)
    t.match(await send(owner, { topic, body: JSON.stringify(body) }), { status: 200 }, topic)
  t.match(await orders(), [{ external_id: '1001', total: '55.00' }])
  const [told] = await sql`
    select
      (select first_name from customer where brand_id = ${owner.id} and store_customer_id = '9') as customer,
      (select title from product where brand_id = ${owner.id}) as product,
      (select total from checkout where brand_id = ${owner.id}) as checkout,
      (select status from subscription where brand_id = ${owner.id}) as subscription`
  t.same(told, { customer: 'New', product: 'New', checkout: '55.00', subscription: 'paused' })
  const again = file('o.csv', `external_id,total,created_at,updated_at\n1001,999,2026-11-20,2026-11-21\n`)
  t.match((await run('orders', again)).report, { imported: 0, unchanged: 1 })
})

t.test('the same file that dates rows ahead changes nothing again', async (t) => {
  const { run, file } = await store(t)
  const path = file('o.csv', `external_id,total,created_at,updated_at\n1,9,2026-11-20,${inAnHour()}\n`)
  t.match((await run('orders', path)).report, { imported: 1 })
  t.match((await run('orders', path)).report, { imported: 0, unchanged: 1 })
})

t.test('an expression that makes several rows of one is refused', async (t) => {
  const { run, file } = await store(t)
  const path = file('r.csv', 'id,amt,codes\n1,10,"EUR,EUR,EUR"\n2,5,\n')
  const fields = { external_id: 'id', total: 'amt', created_at: `'2026-11-01'` }
  for (const makes of [
    `unnest(string_split(codes, ','))`,
    `upper(unlist(string_split(codes, ',')))`,
    `generate_subscripts(string_split(codes, ','), 1)::varchar`,
  ])
    await t.rejects(run('refunds', path, { map: { fields: { ...fields, currency_code: makes } } }), {
      message: /^fields\.currency_code: must be one DuckDB expression .* of one value for each row\.$/,
    })
  const first = `(select min(code) from (select unnest(string_split(codes, ',')) as code))`
  t.match((await run('refunds', path, { map: { fields: { ...fields, currency_code: first } } })).report, {
    imported: 2,
  })
})

t.test('an expression that fails on a value is named by its field', async (t) => {
  const { run, file } = await store(t)
  const path = file('o.csv', 'id,amt\n1,10\n2,ten\n')
  const fields = { external_id: 'id', total: 'amt', created_at: `'2026-11-01'` }
  await t.rejects(run('orders', path, { map: { fields: { ...fields, total: 'cast(amt as decimal)' } } }), {
    message: /^fields\.total: Conversion Error: .*ten/,
  })
  const event = { event_type: `'seen'`, occurred_at: `'2026-11-01'`, email: `'a@example.com'` }
  const worth = { 'properties.worth': 'cast(amt as decimal)' }
  await t.rejects(run('events', path, { map: { fields: { ...event, ...worth } } }), {
    message: /^fields\.properties\.worth: Conversion Error: .*ten/,
  })
  await t.rejects(run('orders', path, { map: { fields, where: 'cast(amt as integer) > 1' } }), {
    message: /^where: Conversion Error: .*ten/,
  })
})

t.test('a line whose id is the place of one without an id is refused with its order', async (t) => {
  const { run, file, orders } = await store(t)
  const path = file(
    'o.csv',
    'external_id,created_at,line.id,line.price\na,2026-11-01,2,3\na,2026-11-01,,4\nb,2026-11-01,x,3\nb,2026-11-01,,4\nc,2026-11-01,2,3\nc,2026-11-01,1,4\n',
  )
  const { rejects } = await run('orders', path)
  t.match(rejects, [
    { row: 1, field: 'line.id', value: '2', reason: /the place of another line/ },
    { row: 2, reason: /row 1 with this id is refused/ },
  ])
  t.match(await orders(), [
    { external_id: 'b', lines: [{ id: 'x' }, { id: '2' }] },
    { external_id: 'c', lines: [{ id: '2' }, { id: '1' }] },
  ])
})

t.test('a checkout, refund or subscription with an address that is none names no customer', async (t) => {
  const { run, file } = await store(t)
  for (const [kind, header, rows] of [
    ['checkouts', 'external_id,created_at,email,anonymous_id', ['1,2026-11-01,none,', '2,2026-11-01,none,v']],
    [
      'refunds',
      'external_id,created_at,total,email,order_external_id',
      ['1,2026-11-01,1,none,', '2,2026-11-01,1,none,7'],
    ],
    ['subscriptions', 'external_id,email,phone', ['1,none,12', '2,a@example.com,12']],
  ] as const) {
    const { report } = await run(kind, file(`${kind}.csv`, `${header}\n${rows.join('\n')}\n`))
    t.match(report, { imported: 2, without_customer: 1 }, kind)
  }
})

t.test('a file that begins as none of its name is refused with what to do', async (t) => {
  const { run, file } = await store(t)
  const csv = 'external_id,total,created_at\n1,1,2026-11-01\n'
  const utf16 = Buffer.from(csv, 'utf16le')
  const latin = Buffer.from('external_id,Größe,created_at\n1,1,2026-11-01\n', 'latin1')
  for (const [name, content, message] of [
    ['a.csv', utf16, /a\.csv: is UTF-16: save it as UTF-8\.$/],
    ['b.csv.gz', gzipSync(utf16), /is UTF-16/],
    ['c.csv.zst', zstdCompressSync(Buffer.concat([Buffer.from('fffe', 'hex'), utf16])), /is UTF-16/],
    ['d.ndjson', Buffer.from('{"external_id":1}', 'utf16le'), /is UTF-16/],
    ['e.csv', gzipSync(csv), /is compressed: its name must end in \.gz\.$/],
    ['f.ndjson', zstdCompressSync('{}'), /is compressed: its name must end in \.zst\.$/],
    ['g.csv', latin, /the names of its columns are not in UTF-8: save it as UTF-8\.$/],
    ['h.csv', `sep=;\r\n${csv}`, /its first line, sep=;, is for Excel alone: take it out\.$/],
    ['i.csv.gz', gzipSync(''), /i\.csv\.gz: is empty\.$/],
    ['j.csv', '', /j\.csv: is empty\.$/],
  ] as const)
    await t.rejects(run('orders', file(name, content)), { code: 'bad_request', message }, name)
  for (const [name, content] of [
    ['k.csv', `\uFEFF${csv}`],
    ['l.csv.gz', gzipSync(csv)],
    ['m.csv.zst', zstdCompressSync(csv)],
    ['n.csv', `Größe,${csv.replaceAll('\n1', '\nx,1')}`],
    ['o.csv', `${'ö'.repeat(40_000)},${csv.replaceAll('\n1', '\nx,1')}`],
    ['p.csv', `x${'ö'.repeat(40_000)},${csv.replaceAll('\n1', '\nx,1')}`],
  ] as const)
    t.match((await run('orders', file(name, content))).report, { read: 1, rejected: 0 }, name)
})

t.test('rows without any value are none', async (t) => {
  const { run, file } = await store(t)
  const rows = 'external_id,total,created_at\n1,1,2026-11-01\n,,\n,1,\n"","",\n'
  const { report, rejects } = await run('orders', file('o.csv', rows))
  t.match(report, { read: 2, imported: 1, rejected: 1 })
  t.match(rejects, [{ row: 3, field: 'external_id', reason: 'is missing' }])
  const where = `coalesce(total, '') <> '2'`
  const fields = { external_id: 'external_id', total: 'total', created_at: 'created_at' }
  const some = file('p.csv', `${rows}5,2,2026-11-01\n`)
  t.match((await run('orders', some, { map: { fields, where } })).report, { read: 2, filtered: 1 })
})
