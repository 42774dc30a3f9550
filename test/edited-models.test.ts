import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import t, { type Test } from 'tap'
import { CHECKOUT } from '../src/config.ts'
import { snapshotAll } from '../src/lake/horizon.ts'
import { openServed } from '../src/lake/served.ts'
import type { Part } from '../src/segment/part.ts'
import { createSegment } from '../src/segment/saved.ts'
import { brand as newBrand } from './fixtures/brand.ts'
import { database } from './fixtures/database.ts'
import { lake, logBatch, tick } from './fixtures/lake.ts'
import { recoup } from './fixtures/recoup.ts'
import { nextTurn } from './fixtures/turn.ts'

const MODEL = 'models/ltv_buckets.sql'
const PEOPLE = 'models/customers.sql'
const whole = readFileSync(join(CHECKOUT, MODEL), 'utf8')
const edited = whole.replace("('0-100', 0, 100)", "('0-100', 1, 100)")
const broken = whole.replace('with buckets as', 'wiht buckets as')
const unbound = whole.replace('from ltv\n', 'from ltv where spent > 0\n')

/** A checkout whose models tests may edit, and the programs of it as a process has them that goes on. */
const folder = mkdtempSync(join(tmpdir(), 'recoup-checkout-'))
t.teardown(() => rmSync(folder, { recursive: true, force: true }))
const copy = (part: string) => cpSync(join(CHECKOUT, part), join(folder, part), { recursive: true })
for (const part of ['src', 'jobs', 'sql', 'bin', 'migrations', 'package.json']) copy(part)
symlinkSync(join(CHECKOUT, 'node_modules'), join(folder, 'node_modules'))
const its = async <Module>(path: string) => (await import(join(folder, path))) as Module
const { plan } = await its<typeof import('../jobs/plan.ts')>('jobs/plan.ts')
const { refresh } = await its<typeof import('../jobs/refresh.ts')>('jobs/refresh.ts')
const { openReading } = await its<typeof import('../src/segment/reading.ts')>('src/segment/reading.ts')
const { refreshBrand } = await its<typeof import('../src/segment/refresh.ts')>('src/segment/refresh.ts')
const { loadModels } = await its<typeof import('../src/model/graph.ts')>('src/model/graph.ts')
const { dataOf } = await its<typeof import('../src/connect/erase/person-data.ts')>(
  'src/connect/erase/person-data.ts',
)
const { personOf } = await its<typeof import('../src/connect/erase/preview.ts')>(
  'src/connect/erase/preview.ts',
)
const { setLogLevel } = await its<typeof import('../src/log.ts')>('src/log.ts')
setLogLevel('error')

/** The checkout with its models as they were, and a brand. */
async function checkout(t: Test) {
  rmSync(join(folder, 'models'), { recursive: true, force: true })
  copy('models')
  const { postgres, url } = await database(t)
  const pipeline = await lake(t, { postgres, url })
  const brand = await newBrand({ postgres }, { shop: 'shop.myshopify.com' })
  await logBatch(postgres.sql, [{ brand_id: brand.id, email: 'ann@example.com' }])
  await tick(pipeline)
  const served = openServed(pipeline)
  t.teardown(() => served.close())

  return {
    write: (text: string, model = MODEL) => writeFileSync(join(folder, model), text),
    remove: (model: string) => rmSync(join(folder, model)),
    postgres,
    sql: postgres.sql,
    brand,
    come: async (...emails: string[]) => {
      await logBatch(
        postgres.sql,
        emails.map((email) => ({ brand_id: brand.id, email, event_type: 'page_viewed' })),
      )
      await snapshotAll(pipeline)
    },
    refreshed: (smallRows: number, parts?: readonly Part[]) =>
      refreshBrand(pipeline, brand.id, { smallRows, mostTouched: 9, ...(parts && { parts }) }),
    published: async (statement: string) => (await served.reader(brand.id))?.rows(statement),
    /** What an export of a customer has of models. */
    exported: async (email: string) => {
      const { models } = await dataOf(pipeline, brand, await personOf(pipeline, brand, { email }))
      return models as { model: string; rows: object[] }[]
    },
    /** What the next interval does, and which brands had their turn. */
    turn: async () => {
      await postgres.sql`update lake_brand set refresh_planned_at = null, retry_at = null`
      return (await nextTurn({ plan, refresh }, pipeline)).length
    },
    /** The lower bound of the first bucket, as published and as computed on request. */
    bound: async () => {
      const statement = 'select min(at_least) as bound from ltv_buckets'
      const reader = await served.reader(brand.id)
      const [published] = (await reader?.rows<{ bound: number }>(statement)) ?? []
      const session = await openReading(pipeline, brand)
      const [asked] = await session.duck.rows<{ bound: number }>(statement).finally(session.close)
      return [published?.bound, asked?.bound]
    },
    status: async () =>
      (await postgres.pipeline.many<{ failures: number; error: string | null }>('status_brands')).map(
        ({ failures, error }) => ({ failures, error }),
      ),
    recoup: (...args: string[]) =>
      recoup(args, {
        program: join(folder, 'bin/recoup'),
        env: { DATABASE_URL: url, LAKE_DIR: pipeline.lakeDir, DATA_DIR: join(folder, '.data') },
      }),
  }
}

t.test('models of a process that goes on', async (t) => {
  const { write, turn, bound, status } = await checkout(t)
  const said = t.capture(process.stderr, 'write')
  t.equal(await turn(), 1)
  t.same(await bound(), [0, 0])

  await t.test('are one list while no file changes', async (t) => {
    t.equal(await loadModels(), await loadModels())
    t.equal(await turn(), 0)
  })

  await t.test(
    'are those of an edited file in the next refresh and in what is computed on request',
    async (t) => {
      write(edited)
      t.equal(await turn(), 1)
      t.same(await bound(), [1, 1])
    },
  )

  for (const [what, text, message] of [
    ['does not parse', broken, /^models\/ltv_buckets\.sql: syntax error at or near "wiht"/],
    ['names an unknown column', unbound, /^models\/ltv_buckets\.sql: Binder Error: .*"spent" not found/],
  ] as const) {
    await t.test(`fail refreshes while one ${what}, and reads go on as before`, async (t) => {
      write(text)
      said()
      t.equal(await turn(), 1)
      t.match(await status(), [{ failures: 1, error: message }])
      t.match(JSON.parse(String(said()[0]?.args[0])), { event: 'refresh_failed', error: message })
      t.same(await bound(), [1, 1])
    })

    await t.test(`go on by themselves when it is as it was that ${what}`, async (t) => {
      for (let more = 0; more < 2; more++) await turn()
      t.equal(await turn(), 0, 'after three failures it waits for a change')
      write(edited)
      t.equal(await turn(), 1)
      t.same(await status(), [{ failures: 0, error: null }])
    })
  }
})

t.test('commands', async (t) => {
  const { write, turn, status, ...its } = await checkout(t)
  await turn()

  await t.test('refresh notes in the status that it failed, and that it did not', async (t) => {
    write(unbound)
    const message = /models\/ltv_buckets\.sql: Binder Error/
    t.match(await its.recoup('refresh', '--brand', 'shop'), { code: 1, stderr: message })
    t.match(await status(), [{ failures: 1, error: message }])
    write(whole)
    t.match(await its.recoup('refresh', '--brand', 'shop'), { code: 0 })
    t.same(await status(), [{ failures: 0, error: null }])
  })

  await t.test('sql answers without a broken model and those that read it, and says why', async (t) => {
    write(broken)
    const { code, stdout, stderr } = await its.recoup('sql', '--json', 'select count(*) as n from ltv')
    t.match({ code, answer: JSON.parse(stdout) }, { code: 0, answer: [{ n: 0 }] })
    t.match(stderr, /^left out: models\/ltv_buckets\.sql: syntax error[^\n]*\n$/)
    t.match(await its.recoup('sql', 'from ltv_buckets'), {
      code: 1,
      stderr: /\nrecoup: ltv_buckets is left out: models\/ltv_buckets\.sql: syntax error[^\n]*\n$/,
    })
  })

  await t.test('export of a broken model says what is wrong with it', async (t) => {
    t.match(await its.recoup('export', '--model', 'ltv_buckets', '--to', join(t.testdir(), 'x.csv')), {
      code: 1,
      stderr: /^recoup: models\/ltv_buckets\.sql: syntax error/,
    })
  })

  await t.test('export writes columns that are called like words of SQL', async (t) => {
    write(whole)
    const header = '-- what: w\n-- grain: order\n-- refresh: with the segments\n'
    write(`${header}select 1 as "order", ['a'] as "group"\n`, 'models/worded.sql')
    const file = join(t.testdir(), 'x.csv')
    t.match(await its.recoup('export', '--model', 'worded', '--to', file), { code: 0 })
    t.equal(readFileSync(file, 'utf8'), 'order,group\n1,"[""a""]"\n')
  })

  await t.test('a model that fails over the rows there are is named by its file', async (t) => {
    const header = '-- what: w\n-- grain: customer\n-- refresh: at every read\n'
    write(`${header}select customer, email::integer as years from stg_customers\n`, 'models/ages.sql')
    write(`${header}select customer, years + 1 as next from ages\n`, 'models/coming.sql')
    const stderr = /^recoup: models\/ages\.sql: Conversion Error: Could not convert [^\n]*\n$/
    const to = join(t.testdir(), 'x.csv')
    t.match(await its.recoup('export', '--model', 'coming', '--to', to), { code: 1, stderr })
    t.match(await its.recoup('sql', 'select sum(next) from Coming'), { code: 1, stderr })
    const own = await its.recoup('sql', 'select email::integer from stg_customers')
    t.match(own, { code: 1, stderr: /^recoup: Conversion Error/ })
  })
})

/** Models of one's own over what visits and profiles move, which no customer's rows alone say. */
const OWN = {
  visits_of_buyers: [
    'customer',
    'select orders.customer, count(*) as visits from orders inner join stg_events using (customer) group by orders.customer',
  ],
  people: ['people', 'select count(*) as people from customers'],
  kinds: ['event_type', 'select event_type, count(*) as events from stg_events group by event_type'],
}

for (const [what, smallRows] of [
  ['small', 1_000],
  ['large', 0],
] as const)
  t.test(`marts of one's own follow visits: of a ${what} brand`, async (t) => {
    const { write, sql, brand, come, refreshed, published } = await checkout(t)
    for (const [name, [grain, select]] of Object.entries(OWN))
      write(
        `-- what: ${name}\n-- grain: ${grain}\n-- refresh: with the segments\n${select}\n`,
        `models/${name}.sql`,
      )
    await sql`
      insert into store_order (brand_id, external_id, id, subject, state, billing_status, currency_code, total,
        refunded_total, created_at, updated_at)
      select brand_id, 'o1', gen_random_uuid(), subject, 'complete', 'paid', 'USD', 10, 0, now() - interval '1 day', now()
      from customer where brand_id = ${brand.id}`
    await come('bob@example.com')
    const all = async () => ({
      visits: await published('select visits from visits_of_buyers'),
      people: await published('from people'),
      events: await published('select sum(events) as events from kinds'),
    })
    await refreshed(smallRows)
    t.same(await all(), { visits: [{ visits: 1 }], people: [{ people: 2 }], events: [{ events: '2' }] })
    for (const round of [1, 2]) {
      await come('ann@example.com', `new${round}@example.com`)
      const { full } = await refreshed(smallRows)
      t.equal(full, smallRows > 0)
      const [visits, people, events] = [1 + round, 2 + round, String(2 + 2 * round)]
      t.same(
        await all(),
        { visits: [{ visits }], people: [{ people }], events: [{ events }] },
        `round ${round}`,
      )
    }
  })

t.test('further columns of customers follow events, where segments are made apart', async (t) => {
  const { write, come, refreshed, published } = await checkout(t)
  const text = readFileSync(join(CHECKOUT, PEOPLE), 'utf8')
  const counted = text
    .replace('as last_event_at\n', 'as last_event_at,\n        count(*)::integer as events_count\n')
    .replace('\n    profile.updated_at', '\n    profile.updated_at,\n    activity.events_count')
  write(counted, PEOPLE)
  await come('bob@example.com', 'cleo@example.com')
  await refreshed(0)
  await come('ann@example.com')
  t.equal((await refreshed(0, ['segments'])).full, false)
  t.same(await published('select events_count from customers order by email'), [
    { events_count: 2 },
    { events_count: 1 },
    { events_count: 1 },
  ])
})

t.test('what models of a data team say of a customer is in an export', async (t) => {
  const { write, refreshed, come, exported } = await checkout(t)
  const header = '-- what: w\n-- grain: customer_id\n-- refresh: with the segments\n'
  write(`${header}select customer, customer_id, 1 as score from customers\n`, 'models/by_number.sql')
  write(`${header}select customer_id, 2 as score from customers\n`, 'models/by_id.sql')
  await come('bob@example.com')
  await refreshed(0)
  const models = await exported('ann@example.com')
  const own = models.filter(({ model }) => model.startsWith('by_'))
  t.match(own, [
    { model: 'by_id', rows: [{ score: 2 }] },
    { model: 'by_number', rows: [{ score: 1 }] },
  ])
  t.same(
    own.map(({ rows }) => rows.length),
    [1, 1],
    'and nothing of others',
  )
})

const LINES = 'models/staging/stg_order_lines.sql'
const PRODUCTS = 'models/staging/stg_order_products.sql'
const bought = (...more: object[]) => ({
  source: 'commerce_orders',
  rule: {
    op: 'count-over-window',
    window: { days: 30 },
    where: [{ field: 'product_id', op: '=', value: 'p' }, ...more],
  },
})

for (const [what, smallRows] of [
  ['small', 1_000],
  ['large', 0],
] as const)
  t.test(`rules on products follow edited lines of orders: of a ${what} brand`, async (t) => {
    const { write, remove, sql, brand, postgres, come, refreshed, published } = await checkout(t)
    const lines = readFileSync(join(CHECKOUT, LINES), 'utf8')
    write(lines.replace('from stg_orders\n', "from stg_orders\n    where state != 'cancelled'\n"), LINES)
    remove(PRODUCTS)
    for (const [name, definition] of [
      ['p', bought()],
      ['one p', bought({ field: 'quantity', op: '>=', value: 1 })],
    ] as const)
      await createSegment(postgres.forBrand(brand.id), { name, definition, createdBy: 'test' })
    const order = (id: string, email: string, state: string) => sql`
      insert into store_order (brand_id, external_id, id, subject, state, billing_status, currency_code, total, lines,
        created_at, updated_at)
      select brand_id, ${id}, gen_random_uuid(), subject, ${state}, 'paid', 'USD', 10,
        '[{"product_id":"p","quantity":1}]'::text::jsonb, now() - interval '1 hour', now()
      from customer where brand_id = ${brand.id} and email = ${email}`
    const members = () =>
      published('select customers.email from members join customers using (customer) order by segment, email')
    await come('bob@example.com', 'cleo@example.com')
    await order('1', 'ann@example.com', 'complete')
    await order('2', 'bob@example.com', 'cancelled')
    await come('ann@example.com')
    t.same((await refreshed(smallRows)).failed, [])
    const emails = (...names: string[]) => names.map((name) => ({ email: `${name}@example.com` }))
    t.same(await members(), emails('ann', 'ann'))
    await order('3', 'cleo@example.com', 'complete')
    await come('ann@example.com')
    t.match(await refreshed(smallRows), { full: smallRows > 0, failed: [] })
    t.same(await members(), emails('ann', 'cleo', 'ann', 'cleo'))
  })

for (const [what, smallRows] of [
  ['small', 1_000],
  ['large', 0],
] as const)
  t.test(`what a model divides by zero is missing: of a ${what} brand`, async (t) => {
    const { write, refreshed, published } = await checkout(t)
    const text = 'select 1 as customer, 1.0::double / 0 as one, 0.0::double / 0 as none from params'
    write(`-- what: w\n-- grain: customer\n-- refresh: with the segments\n${text}\n`, 'models/shares.sql')
    await refreshed(smallRows)
    t.same(await published('select one, none from shares'), [{ one: null, none: null }])
  })

const TIERS = 'models/rfm_tiers.sql'
const CHECKOUTS = 'models/staging/stg_checkouts.sql'
const CURRENCIES = 'models/other_currencies.sql'

for (const [what, model, change, message] of [
  ['a model that is gone', TIERS, undefined, /^models\/rfm_tiers\.sql: is missing, and operations read it$/],
  [
    'a model that became a view',
    TIERS,
    ['with the segments', 'at every read'],
    /^models\/rfm_tiers\.sql: operations read what refreshes publish of it/,
  ],
  [
    'customers without the time of their events',
    PEOPLE,
    ['-- seen: last_event_at\n', ''],
    /^models\/customers\.sql: header keys "by" and "seen" are missing/,
  ],
  [
    'customers with a column of refreshes',
    PEOPLE,
    ['profile.updated_at\n', 'profile.updated_at,\n    1 as Position\n'],
    /^models\/customers\.sql: column "Position" is called like the place by customer id; call it otherwise$/,
  ],
  [
    'a column that is gone',
    CURRENCIES,
    [',\n    sum(amount)::decimal(38, 2) as revenue', ''],
    /^models\/other_currencies\.sql: column "revenue" is missing, and operations read it\.$/,
  ],
  [
    'a column that is called otherwise',
    CURRENCIES,
    ['sum(order_count)::bigint as order_count', 'sum(order_count)::bigint as orders_count'],
    /^models\/other_currencies\.sql: column "order_count" is missing, and operations read it\. Did you mean "orders_count"\?$/,
  ],
  [
    'a column of another type',
    CURRENCIES,
    ['::decimal(38, 2) as revenue', '::double as revenue'],
    /^models\/other_currencies\.sql: column "revenue" is DOUBLE; operations read an amount of money \(DECIMAL with two places\)$/,
  ],
  [
    'a column of rules that is called otherwise',
    CHECKOUTS,
    ['checkout.total,', 'checkout.total as amount,'],
    /^models\/staging\/stg_checkouts\.sql: column "total" is missing, and rules of segments read it\.$/,
  ],
  [
    'a column of rules of another type',
    CHECKOUTS,
    ['checkout.created_at,', 'checkout.created_at::varchar as created_at,'],
    /^models\/staging\/stg_checkouts\.sql: column "created_at" is VARCHAR; rules of segments read a time \(TIMESTAMP\)$/,
  ],
] as const)
  t.test(`a refresh refuses what operations could not read: ${what}`, async (t) => {
    const { write, remove, refreshed } = await checkout(t)
    if (change) write(readFileSync(join(CHECKOUT, model), 'utf8').replace(change[0], change[1]), model)
    else remove(model)
    await t.rejects(refreshed(1_000), message)
  })

/** Of a type that no operation reads. */
const FURTHER = `
    first_order_at::date as first_order_day,
    sum(1) over (partition by profile.customer) as items_bought,
    [1, 2] as places,
    timestamptz '2026-01-02 03:04:05+00' as noted_at,
    profile.updated_at`

for (const [what, smallRows] of [
  ['small', 1_000],
  ['large', 0],
] as const)
  t.test(`customers may have further columns of any type: of a ${what} brand`, async (t) => {
    const { write, come, refreshed, published } = await checkout(t)
    const text = readFileSync(join(CHECKOUT, PEOPLE), 'utf8')
    write(text.replace('\n    profile.updated_at', FURTHER), PEOPLE)
    await come('bob@example.com')
    await refreshed(smallRows)
    await come('ann@example.com')
    t.equal((await refreshed(smallRows)).full, smallRows > 0)
    const further =
      'select items_bought::integer as items, places::varchar as places, noted_at, first_order_day'
    t.match(await published(`${further} from customers where email = 'ann@example.com'`), [
      { items: 1, places: '[1, 2]', noted_at: new Date('2026-01-02T03:04:05Z'), first_order_day: null },
    ])
  })

t.test(
  'a model that is called like a relation of refreshes is named, and left out of what is read',
  async (t) => {
    const { write, remove, refreshed, bound } = await checkout(t)
    await refreshed(1_000)
    for (const name of ['members', 'segment_members']) {
      const model = `models/${name}.sql`
      write('-- what: w\n-- grain: customer\n-- refresh: r\n\nselect customer from stg_customers', model)
      await t.rejects(refreshed(1_000), {
        message: `${model}: "${name}" is the name of a relation that refreshes make`,
      })
      t.same(await bound(), [0, 0])
      remove(model)
    }
  },
)

for (const [what, smallRows] of [
  ['small', 1_000],
  ['large', 0],
] as const)
  for (const [model, from] of [
    [PEOPLE, 'from stg_customers as profile'],
    [MODEL, 'full join filled using (bucket)'],
  ] as const)
    t.test(
      `an edited model that repeats rows is refused, reads go on: ${model} of a ${what} brand`,
      async (t) => {
        const { write, come, refreshed, published } = await checkout(t)
        await come('ann@example.com')
        await refreshed(smallRows)
        const all = `from ${basename(model, '.sql')} order by all`
        const before = await published(all)
        const text = readFileSync(join(CHECKOUT, model), 'utf8')
        write(text.replace(from, `${from}\ncross join (values (1), (2)) as twice`), model)
        const broken = new RegExp(`^${model}: is not one row per .*: rows that repeat one: `)
        await t.rejects(refreshed(smallRows), broken)
        t.same(await published(all), before)
      },
    )

t.test('columns of a large brand have any names, those of words of SQL too', async (t) => {
  const { write, sql, brand, postgres, come, refreshed, published } = await checkout(t)
  const [orders, lines] = ['models/staging/stg_orders.sql', LINES].map((file) =>
    readFileSync(join(CHECKOUT, file), 'utf8'),
  ) as [string, string]
  write(
    orders.replace('placed.product_ids\n', 'placed.product_ids, placed.number as "order"\n'),
    'models/staging/stg_orders.sql',
  )
  write(lines.replace('from stg_orders\n', 'from stg_orders\n    where "order" is null\n'), LINES)
  write(
    '-- what: w\n-- grain: customer\n-- refresh: with the segments\n-- plain: group\nselect customer, email as "group" from customers\n',
    'models/groups.sql',
  )
  await createSegment(postgres.forBrand(brand.id), { name: 'p', definition: bought(), createdBy: 'test' })
  await come('ann@example.com')
  t.same((await refreshed(0)).failed, [])
  await sql`
    insert into store_order (brand_id, external_id, id, subject, state, billing_status, currency_code, total, lines,
      created_at, updated_at)
    select brand_id, '1', gen_random_uuid(), subject, 'complete', 'paid', 'USD', 10,
      '[{"product_id":"p","quantity":1}]'::text::jsonb, now() - interval '1 hour', now()
    from customer where brand_id = ${brand.id}`
  await come('ann@example.com')
  t.match(await refreshed(0), { full: false, failed: [] })
  t.same(await published('select "group" from groups join members using (customer)'), [
    { group: 'ann@example.com' },
  ])
})

t.test('a condition of a header that fails over the rows there are is named', async (t) => {
  const { write, sql, brand, come, refreshed } = await checkout(t)
  const header = (more: string) => `-- what: w\n-- grain: event_id\n-- refresh: with the segments\n${more}`
  const where = "(properties ->> 'n')::integer = 1"
  write(
    `${header(`-- from: events where ${where}\n`)}select event_id from events where ${where}\n`,
    'models/staging/stg_numbered.sql',
  )
  write(`${header('')}select event_id from stg_numbered\n`, 'models/numbered.sql')
  await logBatch(sql, [{ brand_id: brand.id, email: 'ann@example.com', properties: { n: 'one' } }])
  await come('ann@example.com')
  await t.rejects(refreshed(1_000), /^models\/staging\/stg_numbered\.sql: Conversion Error/)
})
