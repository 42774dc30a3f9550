import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { DEMO_FILES, type DemoFile, type DemoOptions, generateDemo } from '../src/connect/demo/generate.ts'
import { literal, openDuck } from '../src/store/duckdb.ts'

const folder = mkdtempSync(join(tmpdir(), 'recoup-demo-'))
const duck = await openDuck({ memoryMb: 500, threads: 2, tempDir: join(folder, 'spill') })
t.teardown(() => {
  duck.close()
  rmSync(folder, { recursive: true, force: true })
})

const STORE = {
  customers: 1_000,
  days: 365,
  seed: 1,
  endsAt: new Date('2025-06-30T12:34:56.789Z'),
  currency: 'EUR',
  memoryMb: 500,
}

const generate = (name: string, options: Partial<DemoOptions> = {}) =>
  generateDemo({ ...STORE, ...options, folder: join(folder, name) })

/** One number per file that depends on every value and on the order of the rows. */
async function fingerprint(files: Record<DemoFile, string>): Promise<Record<string, string>> {
  const prints: Record<string, string> = {}
  for (const name of DEMO_FILES) {
    const [row] = await duck.rows<{ print: string }>(
      `select bit_xor(hash(r, line))::VARCHAR as print
       from (select row_number() over () as r, rows::VARCHAR as line from ${literal(files[name])} as rows)`,
    )
    prints[name] = row?.print ?? ''
  }
  return prints
}

const progress: number[] = []
const { files, counts } = await generate('one', { onProgress: (share) => progress.push(share) })
for (const name of DEMO_FILES) await duck.run(`create view ${name} as from ${literal(files[name])}`)
await duck.run(`set variable ends_at = '2025-06-30 12:34:56.789'::TIMESTAMP`)
await duck.run(`set variable starts_at = getvariable('ends_at') - interval 365 days`)

const only = async <Row>(select: string): Promise<Row> => {
  const [row] = await duck.rows<Row>(select)
  if (!row) throw new Error(`no row: ${select}`)
  return row
}
const number = async (select: string) => (await only<{ n: number }>(`select (${select})::INTEGER as n`)).n
/** Rows of a relation for which a condition is not true. */
const breaking = (relation: string, condition: string) =>
  number(`select count(*) from ${relation} where (${condition}) is not true`)

t.test('the same arguments give the same rows in the same order, whatever the threads', async (t) => {
  const again = await generate('again', { threads: 1 })
  t.same(await fingerprint(again.files), await fingerprint(files))
  t.same(again.counts, counts)
})

t.test('another seed, another end and another number of days give other rows', async (t) => {
  const first = await fingerprint(files)
  const others = [{ seed: 2 }, { endsAt: new Date('2025-06-29T12:34:56.789Z') }, { days: 364 }]
  for (const [i, options] of others.entries()) {
    const other = await fingerprint((await generate(`other-${i}`, options)).files)
    for (const name of ['orders', 'events', 'customers'] as const) t.not(other[name], first[name], name)
  }
})

t.test('the counts are those of the files', async (t) => {
  for (const name of DEMO_FILES) t.equal(await number(`select count(*) from ${name}`), counts[name], name)
})

t.test('there are the wanted customers, and a believable number of orders and events', async (t) => {
  t.equal(counts.customers, 1_000)
  t.ok(counts.orders > 1_200 && counts.orders < 3_000, `${counts.orders} orders`)
  t.ok(counts.events > 15_000 && counts.events < 20_000, `${counts.events} events`)
})

t.test('events per customer are as wanted, within a tenth', async (t) => {
  for (const wanted of [6, 40]) {
    const { counts } = await generate(`events-${wanted}`, { eventsPerCustomer: wanted })
    t.ok(Math.abs(counts.events / 1_000 - wanted) < wanted / 10, `${counts.events} for ${wanted}`)
  }
})

t.test('a single customer, a single day and no wanted events still make every file', async (t) => {
  for (const options of [{ customers: 1 }, { days: 1 }, { eventsPerCustomer: 0 }]) {
    const { files } = await generate('least', options)
    for (const name of DEMO_FILES) await duck.rows(`from ${literal(files[name])} limit 1`)
  }
  t.pass()
})

t.test('progress rises from 0 to 1', (t) => {
  t.equal(progress[0], 0)
  t.equal(progress.at(-1), 1)
  t.same(
    progress,
    progress.toSorted((a, b) => a - b),
  )
  t.end()
})

t.test('order totals add up', async (t) => {
  t.equal(await breaking('orders', 'subtotal = list_sum([line.total for line in lines])'), 0)
  t.equal(await breaking('orders', 'total = subtotal - discount_total and total > 0'), 0)
  t.equal(await breaking('orders, unnest(lines) as u(line)', 'line.total = line.quantity * line.price'), 0)
  t.equal(await breaking('orders', '(discount_total > 0) = (len(discount_codes) > 0)'), 0)
})

t.test('no product is in an order twice', async (t) => {
  t.equal(await breaking('orders', 'len(lines) = len(list_distinct([line.product_id for line in lines]))'), 0)
})

t.test('order lines name products that are for sale, with a variant of theirs and its price', async (t) => {
  t.equal(
    await number(`
      with sold as (select customer_external_id, unnest(lines) as line from orders),
      sale as (
        select id as product_id, unnest(from_json(variants, '[{"id": "VARCHAR", "price": "DECIMAL(18,2)", "sku": "VARCHAR"}]')) as v
        from products where status = 'active'),
      agreed as (select customer_external_id, product_id, price from subscriptions)
      select count(*) from sold
      left join sale on sale.product_id = line.product_id and v.id = line.variant_id and v.sku = line.sku
      left join agreed on agreed.customer_external_id = sold.customer_external_id and agreed.product_id = line.product_id
      where (line.price in (v.price, agreed.price)) is not true`),
    0,
  )
})

t.test('refunds never exceed totals', async (t) => {
  t.equal(await breaking('orders', 'refunded_total between 0 and total'), 0)
  t.ok(await number(`select count(*) from orders where refunded_total > 0 and refunded_total < total`))
})

t.test('state, billing status, refund and cancellation agree', async (t) => {
  t.same(
    await duck.rows(`
      select distinct state, billing_status, refunded_total > 0 as refunded, refunded_total = total as in_full,
        cancelled_at is not null as cancelled
      from orders order by all`),
    [
      { state: 'cancelled', billing_status: 'refunded', refunded: true, in_full: true, cancelled: true },
      { state: 'cancelled', billing_status: 'voided', refunded: false, in_full: false, cancelled: true },
      { state: 'complete', billing_status: 'paid', refunded: false, in_full: false, cancelled: false },
      {
        state: 'complete',
        billing_status: 'partially_refunded',
        refunded: true,
        in_full: false,
        cancelled: false,
      },
      { state: 'pending', billing_status: 'pending', refunded: false, in_full: false, cancelled: false },
      { state: 'refunded', billing_status: 'refunded', refunded: true, in_full: true, cancelled: false },
    ],
  )
})

t.test('orders are numbered from 1001 in the order of time', async (t) => {
  t.equal(
    await breaking(
      '(select number, row_number() over (order by created_at, external_id) as place from orders)',
      `number = '#' || (1000 + place)`,
    ),
    0,
  )
})

t.test('every checkout_completed names an existing order of the same customer, time and total', async (t) => {
  const completed = `(select e.*, o.external_id, o.customer_external_id, o.created_at, o.total
    from events as e left join orders as o on o.external_id = (properties->>'order_id')
    where event_type = 'checkout_completed')`
  t.ok((await number(`select count(*) from ${completed}`)) > 300)
  t.equal(await breaking(completed, 'external_id is not null and created_at = occurred_at'), 0)
  t.equal(await breaking(completed, `store_customer_id = customer_external_id`), 0)
  t.equal(await breaking(completed, `(properties->>'total')::DECIMAL(18,2) = total`), 0)
})

t.test('what is added to the cart in a session with an order is what was ordered', async (t) => {
  const bought = `select (properties->>'session_id') as session, (properties->>'order_id') as order_id from events
    where event_type = 'checkout_completed'`
  const added = `select (properties->>'session_id') as session, (properties->>'variant_id') as variant,
    (properties->>'quantity')::INTEGER as quantity from events where event_type = 'product_added_to_cart'`
  t.equal(
    await number(`select count(*) from (
      (select order_id, variant, quantity from (${bought}) join (${added}) using (session))
      except
      (select external_id, line.variant_id, line.quantity from orders, unnest(lines) as u(line)))`),
    0,
  )
})

t.test('a checkout is completed, recovered, abandoned or open as its times say', async (t) => {
  t.equal(await number('select count(distinct state) filter (state <> $$open$$) from checkouts'), 3)
  t.equal(
    await breaking(
      'checkouts',
      `case state
        when 'completed' then completed_at >= created_at and abandoned_at is null and updated_at = completed_at
        when 'recovered' then completed_at > abandoned_at and abandoned_at > created_at
        when 'abandoned' then completed_at is null and abandoned_at >= created_at + interval 60 minutes
        when 'open' then completed_at is null and abandoned_at is null
          and updated_at > getvariable('ends_at') - interval 60 minutes
        end`,
    ),
    0,
  )
})

t.test('checkouts and checkout_started events are the same checkouts', async (t) => {
  const started = `select (properties->>'checkout_id') as id, (properties->>'item_count')::INTEGER as item_count
    from events where event_type = 'checkout_started'`
  const kept = 'select external_id as id, item_count from checkouts'
  t.equal(await number(`select count(*) from ((${started}) except all (${kept}))`), 0)
  t.equal(await number(`select count(*) from ((${kept}) except all (${started}))`), 0)
})

t.test(
  'nothing but a next billing is in the future of the end, and nothing before the beginning',
  async (t) => {
    for (const [relation, columns] of [
      ['events', ['occurred_at']],
      ['customers', ['created_at']],
      ['orders', ['created_at', 'updated_at', 'cancelled_at']],
      ['checkouts', ['created_at', 'abandoned_at', 'completed_at', 'updated_at']],
      ['subscriptions', ['started_at', 'cancelled_at']],
    ] as const) {
      for (const column of columns) {
        const within = `coalesce(${column} between getvariable('starts_at') and getvariable('ends_at'), true)`
        t.equal(await breaking(relation, within), 0, `${relation}.${column}`)
      }
    }
    t.equal(await breaking('orders', 'updated_at >= created_at'), 0)
    t.equal(
      await breaking(
        'subscriptions',
        `coalesce(next_billing_at > getvariable('ends_at'), status <> 'active')`,
      ),
      0,
    )
  },
)

t.test('identifiers are unique, and present where somebody is known', async (t) => {
  for (const [relation, column] of [
    ['events', 'event_id'],
    ['customers', 'external_id'],
    ['orders', 'external_id'],
    ['checkouts', 'external_id'],
    ['subscriptions', 'external_id'],
    ['products', 'id'],
  ] as const) {
    t.equal(await number(`select count(*) - count(distinct ${column}) from ${relation}`), 0, relation)
  }
  for (const column of ['email', 'phone']) {
    t.equal(await number(`select count(${column}) - count(distinct ${column}) from customers`), 0, column)
  }
  t.equal(await breaking('events', `anonymous_id is not null`), 0)
  t.equal(await breaking('checkouts', '(customer_external_id is null) <> (anonymous_id is null)'), 0)
  for (const relation of ['orders', 'checkouts', 'subscriptions']) {
    const known = `customer_external_id is null or customer_external_id in (select external_id from customers)`
    t.equal(await breaking(relation, known), 0, relation)
  }
  t.equal(
    await breaking(
      'events',
      'store_customer_id is null or store_customer_id in (select external_id from customers)',
    ),
    0,
  )
})

t.test('nobody is known by the store id before being a customer', async (t) => {
  t.equal(
    await breaking(
      `(from events join customers on external_id = store_customer_id
        select occurred_at, created_at)`,
      'occurred_at >= created_at',
    ),
    0,
  )
})

t.test('some visitors never say who they are', async (t) => {
  const silent = await number(`select count(*) from (
    select anonymous_id from events group by all having count(email) = 0 and count(store_customer_id) = 0)`)
  t.ok(silent > 500, `${silent} visitors`)
})

t.test('properties carry the built-in names, and a value where they have one', async (t) => {
  const onPages = `(from events where event_type <> 'updateProperties')`
  t.equal(
    await breaking(onPages, `(properties->>'url') = 'https://shop.example' || (properties->>'path')`),
    0,
  )
  t.equal(await breaking(onPages, `(properties->>'session_id') is not null`), 0)
  const updates = `(from events where event_type = 'updateProperties')`
  t.ok((await number(`select count(*) from ${updates}`)) > 0)
  t.equal(await breaking(updates, `properties = '{"newsletter":"yes"}'`), 0, 'what is set, and nothing else')
  t.equal(await number(`select count(*) from events, json_each(properties) as p where p.value = 'null'`), 0)
  for (const [type, names] of [
    ['product_viewed', ['product_id', 'variant_id', 'product_title', 'sku', 'price', 'currency_code']],
    ['product_added_to_cart', ['product_id', 'variant_id', 'price', 'quantity']],
    ['collection_viewed', ['collection_id', 'collection_title']],
    ['search_submitted', ['query']],
    ['cart_viewed', ['cart_id', 'total', 'currency_code', 'item_count']],
    ['checkout_started', ['cart_id', 'checkout_id', 'checkout_url', 'total', 'items']],
    ['checkout_completed', ['cart_id', 'checkout_id', 'order_id', 'order_number', 'total', 'item_count']],
  ] as const) {
    const rows = `(from events where event_type = '${type}')`
    for (const name of names)
      t.equal(await breaking(rows, `(properties->'${name}') is not null`), 0, `${type}.${name}`)
  }
})

t.test('a session is tracked from landing page to end on one device', async (t) => {
  t.equal(
    await breaking(
      `(select count(distinct anonymous_id) as devices, count(properties->>'landing_page') as landings,
          max(occurred_at) - min(occurred_at) as took
        from events where event_type <> 'updateProperties' group by properties->>'session_id')`,
      'devices = 1 and landings = 1 and took < interval 1 hour',
    ),
    0,
  )
})

t.test('the weekly, daily and yearly rhythm is visible', async (t) => {
  const share = (condition: string) =>
    number(`select 1000 * count(*) filter (${condition}) / count(*) from events`)
  const weekend = await share('isodow(occurred_at) > 5')
  const midweek = await share('isodow(occurred_at) in (2, 3)')
  t.ok(weekend > midweek * 1.15, `${weekend} ‰ at the weekend, ${midweek} ‰ on Tuesday and Wednesday`)
  const evening = await share('hour(occurred_at) between 19 and 21')
  const night = await share('hour(occurred_at) between 2 and 4')
  t.ok(evening > night * 10, `${evening} ‰ from 19 to 22, ${night} ‰ from 2 to 5`)
  const late = await share('month(occurred_at) in (11, 12)')
  const after = await share('month(occurred_at) in (1, 2)')
  t.ok(late > after * 1.1, `${late} ‰ in November and December, ${after} ‰ in January and February`)
})

t.test('a few products sell most, and customers come back', async (t) => {
  const top = await number(`select 100 * sum(n) filter (place <= 20) / sum(n) from (
    select count(*) as n, row_number() over (order by count(*) desc) as place
    from orders, unnest(lines) as u(line) group by line.product_id)`)
  t.ok(top > 35 && top < 80, `${top} % of the lines are for the first 20 of 200 products`)
  const again = await number(`select 100 * count(*) filter (n > 1) / count(*) from (
    select count(*) as n from orders where customer_external_id is not null group by customer_external_id)`)
  t.ok(again > 30 && again < 70, `${again} % of the buyers came back`)
})

t.test('every kind of subscription, test orders and orders of nobody occur', async (t) => {
  const { files } = await generate('larger', { customers: 10_000, eventsPerCustomer: 1 })
  const statuses = await duck.rows(`select distinct status from ${literal(files.subscriptions)} order by all`)
  t.same(
    statuses.map((row) => row.status),
    ['active', 'cancelled', 'expired', 'failed', 'paused'],
  )
  const { tests, nobody } = await only<{ tests: number; nobody: number }>(`
    select count(*) filter (test) as tests, count(*) filter (customer_external_id is null) as nobody
    from ${literal(files.orders)}`)
  t.ok(tests > 0 && nobody > 0)
})

t.test('arguments out of range are refused by name', async (t) => {
  for (const [options, name] of [
    [{ customers: 0 }, 'customers'],
    [{ days: 1.5 }, 'days'],
    [{ seed: -1 }, 'seed'],
    [{ endsAt: new Date(Number.NaN) }, 'endsAt'],
    [{ currency: 'euro' }, 'currency'],
    [{ storefront: 'https://shop.example/"' }, 'storefront'],
    [{ eventsPerCustomer: Number.NaN }, 'eventsPerCustomer'],
  ] as const) {
    await t.rejects(generate('refused', options), { message: new RegExp(`^${name}: `) }, name)
  }
})
