import { readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { mock } from 'node:test'
import { DuckDBInstance } from '@duckdb/node-api'
import t from 'tap'
import { METRICS } from '../src/campaign/metric.ts'
import { CHECKOUT } from '../src/config.ts'
import { loadModels, loadReadable, type Model } from '../src/model/graph.ts'
import { checkPublished } from '../src/model/published.ts'
import { HEADER, loadFiles } from './fixtures/model-files.ts'

const names = (list: readonly Model[]) => list.map(({ name }) => name)

t.test('a model comes after those that it reads', async (t) => {
  const loaded = await loadFiles(t, {
    'a.sql': 'select b.customer from b inner join stg_c using (customer)',
    'b.sql': 'select customer from stg_c where customer in (select customer from d)',
    'd.sql': 'select customer from stg_c',
    'staging/stg_c.sql': 'select subject as customer from customers_source',
  })
  t.same(names(loaded), ['stg_c', 'd', 'b', 'a'])
  t.match(loaded.at(-1), {
    name: 'a',
    layer: 'mart',
    what: 'w',
    grain: ['customer'],
    refresh: 'r',
    reads: ['b', 'stg_c'],
    columns: [['customer', 'INTEGER']],
  })
  t.match(loaded[0], { layer: 'staging', reads: ['customers_source'] })
})

t.test(
  'models that could not be read for want of memory are read when they are asked for again',
  async (t) => {
    const folder = t.testdir({ 'a.sql': `${HEADER}select 1 as customer` })
    const { create } = DuckDBInstance
    t.teardown(() => {
      DuckDBInstance.create = create
    })
    DuckDBInstance.create = () => Promise.reject(new Error('no memory'))
    await t.rejects(loadModels(folder), /no memory/)
    DuckDBInstance.create = create
    t.same(names(await loadModels(folder)), ['a'])
  },
)

t.test('a name that refreshes give to what is beside a model is free where there is none', async (t) => {
  t.same(names(await loadFiles(t, { 'ads_touched.sql': 'select 1 as customer' })), ['ads_touched'])
})

t.test('marts are stored, but for those that say that they are refreshed at every read', async (t) => {
  const atEveryRead = '-- what: w\n-- grain: customer\n-- refresh: at every read\n\n'
  const loaded = await loadFiles(t, {
    'a.sql': 'select customer from stg_c',
    'b.sql': `${atEveryRead}select customer from stg_c`,
    'staging/stg_c.sql': 'select subject as customer from customers_source',
  })
  t.same(names(loaded.filter(({ stored }) => stored)), ['a'])
})

t.test('relations are found wherever a SELECT can name one, without the CTEs in scope', async (t) => {
  const [model] = await loadFiles(t, {
    'staging/stg_x.sql': `
      with events as (select subject from Events where true),
      recursed as (select subject from events)
      select subject as customer, (select max(tick) from "PRODUCTS_SOURCE") as newest
      from recursed
      left join subject_redirect using (subject)
      where exists (with orders as (select 1 as n) select n from orders)
          or subject = any (select subject from checkouts)
      union all
      (select subject, 1 from (values (1)) as v (subject) order by (select as_of from params))`,
  })
  t.same(model?.reads, ['checkouts', 'events', 'params', 'products_source', 'subject_redirect'])
})

t.test('a recursive CTE reads itself, not a relation of that name', async (t) => {
  const [model] = await loadFiles(t, {
    'staging/stg_x.sql': `
      with recursive orders as (select 1 as n union all select n + 1 from orders where n < 3)
      select n as customer from orders`,
  })
  t.same(model?.reads, [])
})

t.test('refused: a column that no relation has', async (t) => {
  await t.rejects(loadFiles(t, { 'a.sql': 'select as_off as customer from params' }), {
    message: /a\.sql: Binder Error: Referenced column "as_off" not found(.|\n)*\nLINE 5: select as_off/,
  })
})

t.test('refused: a model that computes for ever of no rows', async (t) => {
  mock.timers.enable({ apis: ['setTimeout'] })
  const soon = setInterval(() => mock.timers.tick(10_000), 50)
  t.teardown(() => {
    clearInterval(soon)
    mock.timers.reset()
  })
  const slow = 'select sum(a.range * b.range) as customer from range(2000000) as a, range(1000000) as b'
  await t.rejects(loadFiles(t, { 'a.sql': slow }), {
    message: /a\.sql: takes more than 10 s where no source has rows/,
  })
})

t.test('a model that took too long once is read again a minute later, though no file changed', async (t) => {
  const folder = t.testdir({ 'a.sql': `${HEADER}select 1 as customer` })
  const { timeout } = AbortSignal
  const now = performance.now.bind(performance)
  let later = 0
  mock.method(performance, 'now', () => now() + later)
  t.teardown(() => mock.restoreAll())
  const late = mock.method(AbortSignal, 'timeout', () => AbortSignal.abort())
  await t.rejects(loadModels(folder), { message: /a\.sql: takes more than 10 s/ })
  late.mock.mockImplementation(timeout.bind(AbortSignal))
  await t.rejects(loadModels(folder), { message: /a\.sql: takes more than 10 s/ }, 'not before')
  later = 61_000
  t.same(names(await loadModels(folder)), ['a'])
})

t.test('what is computed on request does without broken models and those that read them', async (t) => {
  const folder = t.testdir({
    'a.sql': `${HEADER}select customer from b`,
    'b.sql': 'select 1 as customer',
    'c.sql': `${HEADER}select 1 as customer`,
    'd.sql': `${HEADER}select custommer from c`,
  })
  const { models, leftOut } = await loadReadable(folder)
  t.same(names(models), ['c'])
  t.match(Object.fromEntries([...leftOut].map(([name, { message }]) => [name, message])), {
    a: /a\.sql: it reads "b", which is broken/,
    b: /b\.sql: header key "what" is missing/,
    d: /d\.sql: Binder Error/,
  })
  await t.rejects(loadModels(folder), { message: /b\.sql: header key "what" is missing/ })
})

t.test('a model of sales that reads a broken one is left out for that alone', async (t) => {
  const sales = HEADER.replace('\n', '\n-- of: sales\n')
  const { leftOut } = await loadReadable(
    t.testdir({
      'a.sql': `${sales}select customer from b`,
      'b.sql': `${sales}selec 1 as customer`,
    }),
  )
  t.match(leftOut.get('a')?.message, /a\.sql: it reads "b", which is broken/)
})

t.test('a model may end with a semicolon, which is no part of its SQL', async (t) => {
  const shipped = await loadModels()
  const ended = await loadFiles(
    t,
    Object.fromEntries(
      shipped.map(({ file }) => [
        relative('models', file),
        `${readFileSync(join(CHECKOUT, file), 'utf8')} ;;\n`,
      ]),
    ),
  )
  t.strictSame(
    ended.map(({ name, sql }) => [name, sql]),
    shipped.map(({ name, sql }) => [name, sql]),
  )
})

t.test('hidden files, as editors leave them, are no models', async (t) => {
  const loaded = await loadModels(
    t.testdir({ 'a.sql': `${HEADER}select 1 as customer`, '.#a.sql': 'me@here' }),
  )
  t.same(names(loaded), ['a'])
})

t.test('campaign results without what statistics read of them are named by their file', async (t) => {
  const models = await loadModels()
  const file = 'models/staging/stg_campaign_results.sql'
  const sums = Object.values(METRICS).flatMap((metric) =>
    'per' in metric ? [metric.sum, metric.per] : metric.sum,
  )
  for (const column of new Set(['campaign_id', 'happened_at', ...sums])) {
    const without = models.map((model) =>
      model.file === file ? { ...model, columns: model.columns.filter(([name]) => name !== column) } : model,
    )
    t.throws(() => checkPublished(without), { message: `${file}: column "${column}" is missing` }, column)
  }
  t.throws(() => checkPublished(models.filter((model) => model.file !== file)), {
    message: `${file}: is missing, and operations read it`,
  })
})

const refused: [fact: string, files: Record<string, string>, message: RegExp][] = [
  [
    'a missing header key',
    { 'a.sql': '-- what: w\n-- grain: g\n\nselect 1 as g' },
    /a\.sql: header key "refresh" is missing/,
  ],
  [
    'an unknown header key',
    { 'a.sql': '-- what: w\n-- grian: g\nselect 1 as g' },
    /a\.sql: "grian" is not a header key\. Did you mean "grain"\? Known: what, grain, refresh/,
  ],
  [
    'a header key twice',
    { 'a.sql': '-- what: w\n-- what: w\nselect 1 as g' },
    /a\.sql: header key "what" occurs twice/,
  ],
  ['an empty header key', { 'a.sql': '-- what:\nselect 1 as g' }, /a\.sql: header key "what" has no text/],
  [
    'what else is sold',
    { 'a.sql': '-- what: w\n-- grain: g\n-- refresh: r\n-- of: visits\nselect 1 as g' },
    /a\.sql: header key "of" can be "sales" only, not "visits"/,
  ],
  [
    'rows that come from what is not read',
    {
      'staging/a.sql':
        '-- what: w\n-- grain: g\n-- refresh: r\n-- from: orders_source\nselect subject as g from events',
    },
    /staging\/a\.sql: header key "from" names what the model reads, not "orders_source"/,
  ],
  [
    'rows that come from some of a model',
    {
      'a.sql': '-- what: w\n-- grain: g\n-- refresh: r\n-- from: b where g = 1\nselect g from b',
      'b.sql': '-- what: w\n-- grain: g\n-- refresh: r\nselect 1 as g',
    },
    /a\.sql: header key "from" has a condition on a source only, which "b" is not/,
  ],
  [
    'rows that come from what cannot be read',
    {
      'staging/a.sql':
        '-- what: w\n-- grain: g\n-- refresh: r\n-- from: events where kind = 1\nselect subject as g from events',
    },
    /staging\/a\.sql: .*kind/,
  ],
  [
    'rows that come from two sources',
    {
      'staging/a.sql':
        '-- what: w\n-- grain: g\n-- refresh: r\n-- from: events where subject in (select subject from refunds)\nselect subject as g from events',
    },
    /staging\/a\.sql: the condition of header key "from" reads "refunds", too/,
  ],
  [
    'rows that come from no relation',
    { 'a.sql': '-- what: w\n-- grain: g\n-- refresh: r\n-- from: a, b\nselect 1 as g' },
    /a\.sql: header key "from" is a relation, or "<source> where <condition>", not "a, b"/,
  ],
  [
    'sales that follow from more',
    {
      'a.sql': '-- what: w\n-- grain: g\n-- refresh: r\n-- of: sales\nselect g from b',
      'b.sql': '-- what: w\n-- grain: g\n-- refresh: r\nselect 1 as g',
    },
    /a\.sql: is of sales, but reads "b", which is not/,
  ],
  [
    'sales that follow from visits',
    {
      'a.sql':
        '-- what: w\n-- grain: g\n-- refresh: r\n-- of: sales\nselect customer as g, seen_at from customers',
      'customers.sql': `-- what: w\n-- grain: customer\n-- refresh: r\n-- by: customer\n-- seen: seen_at\nselect 1 as customer, timestamp '2026-01-01' as seen_at`,
    },
    /a\.sql: is of sales, but reads customers\.seen_at, which visits move/,
  ],
  [
    'rows of a customer that follow from the instant',
    {
      'a.sql':
        "-- what: w\n-- grain: customer\n-- refresh: r\n-- by: customer\nselect customer, date_diff('day', created_at, as_of) as age from stg_c, params",
      'staging/stg_c.sql': 'select subject as customer, created_at from customers_source',
    },
    /a\.sql: is by customer, but reads params\.as_of, which moves for everyone: leave "by" out$/,
  ],
  [
    'sales that follow from an unknown relation',
    {
      'a.sql': '-- what: w\n-- grain: g\n-- refresh: r\n-- of: sales\nselect g from custmers',
      'customers.sql': 'select 1 as g',
    },
    /a\.sql: no relation "custmers"\. Did you mean "customers"\?/,
  ],
  [
    'rows that come from what does not parse',
    {
      'staging/a.sql':
        '-- what: w\n-- grain: g\n-- refresh: r\n-- from: events where subject is nul\nselect subject as g from events',
    },
    /staging\/a\.sql: header key "from": syntax error at or near "nul"$/,
  ],
  [
    'a time of events of nobody',
    { 'a.sql': '-- what: w\n-- grain: g\n-- refresh: r\n-- seen: g\nselect 1 as g' },
    /a\.sql: header key "seen" is for models by customer/,
  ],
  [
    'a grain of no column',
    { 'a.sql': '-- what: w\n-- grain: customer, dya\n-- refresh: r\nselect 1 as customer, 2 as "Day"' },
    /a\.sql: header key "grain" names "dya", which is no column\. Did you mean "Day"\? Known: customer, Day/,
  ],
  [
    'a model by customer without customers',
    { 'a.sql': '-- what: w\n-- grain: g\n-- refresh: r\n-- by: customer\nselect 1 as g' },
    /a\.sql: header key "by" names "customer", which is no column/,
  ],
  [
    'a time of events that is no column',
    {
      'a.sql':
        '-- what: w\n-- grain: customer\n-- refresh: r\n-- by: customer\n-- seen: at\nselect 1 as customer',
    },
    /a\.sql: header key "seen" names "at", which is no column/,
  ],
  [
    'texts that are no column',
    { 'a.sql': '-- what: w\n-- grain: g\n-- refresh: r\n-- plain: email\nselect 1 as g' },
    /a\.sql: header key "plain" names "email", which is no column/,
  ],
  [
    'a header line without key',
    { 'a.sql': '-- some words\nselect 1 as g' },
    /a\.sql: "-- some words" in the header/,
  ],
  [
    'an unknown relation',
    { 'staging/stg_a.sql': 'select 1 as x from evnets' },
    /stg_a\.sql: no relation "evnets"\. Did you mean "events"\?/,
  ],
  [
    'a relation like no other',
    { 'a.sql': 'select 1 as x from zzzzzzzz' },
    /a\.sql: no relation "zzzzzzzz"\.$/,
  ],
  [
    'a source in a mart',
    { 'a.sql': 'select 1 as x from orders_source' },
    /a\.sql: "orders_source" is a source, with test orders/,
  ],
  [
    'models that read each other',
    { 'a.sql': 'select 1 as x from b', 'b.sql': 'select 1 as x from c', 'c.sql': 'select 1 as x from b' },
    /b\.sql: models read each other: b → c → b/,
  ],
  ['a model that reads itself', { 'a.sql': 'select 1 as x from a' }, /models read each other: a → a/],
  [
    'two models of one name',
    { 'a.sql': 'select 1 as x', 'more/a.sql': 'select 1 as x' },
    /more\/a\.sql: a model named "a" exists already in/,
  ],
  [
    'a model named like a source',
    { 'events.sql': 'select 1 as x' },
    /events\.sql: "events" is the name of a source/,
  ],
  [
    'a file name that is no relation name',
    { 'My-Model.sql': 'select 1 as x' },
    /a model's file name is snake_case/,
  ],
  ['SQL that does not parse', { 'a.sql': 'selec 1' }, /a\.sql: syntax error at or near "selec" \(line 5\)/],
  [
    'two statements',
    { 'a.sql': 'select 1 as x; select 2 as x' },
    /a\.sql: a model is one SELECT, this has 2 statements/,
  ],
  [
    'a comment behind a semicolon',
    { 'a.sql': "select ';' as x; -- all; of them" },
    /a\.sql: a model ends with its SELECT: leave out the ";" and what stands behind it$/,
  ],
  [
    'a * in the last select',
    { 'a.sql': 'select * from (select 1 as x)' },
    /a\.sql: the last select has a \*; name its columns/,
  ],
  [
    'a * in one side of a union',
    { 'a.sql': 'select 1 as x union all from b', 'b.sql': 'select 1 as x' },
    /a\.sql: the last select has a \*/,
  ],
  ['a bound value', { 'a.sql': 'select $1 as x' }, /a\.sql: a model has no bound values/],
  [
    'a schema',
    { 'a.sql': 'select 1 as x from main.b', 'b.sql': 'select 1 as x' },
    /a\.sql: "main\.b" has a schema/,
  ],
  [
    'describe',
    { 'a.sql': 'select column_name from (describe b)', 'b.sql': 'select 1 as x' },
    /a\.sql: a model cannot read show_ref/,
  ],
  [
    'the clock',
    { 'a.sql': 'select current_date as x' },
    /a\.sql: current_date depends on more than rows and params/,
  ],
  ['chance', { 'a.sql': 'select random() as x' }, /a\.sql: random\(\) depends on more than rows and params/],
  [
    'an age',
    { 'a.sql': "select age(timestamp '2026-01-01') as x" },
    /a\.sql: age\(\) depends on more than rows/,
  ],
  ...['select x from b using sample 3', 'select x from b tablesample 10%', 'from (from b) tablesample 3'].map(
    (sampled): [string, Record<string, string>, RegExp] => [
      sampled,
      { 'a.sql': sampled, 'b.sql': 'select 1 as x' },
      /a\.sql: a sample depends on more than rows and params/,
    ],
  ),
]
for (const name of [
  'members',
  'segment_members',
  'touched',
  'ltv_touched',
  'customer_texts',
  'orders_changed',
])
  refused.push([
    `the name ${name}`,
    { 'ltv.sql': 'select 1 as customer', [`${name}.sql`]: 'select 1 as customer' },
    new RegExp(`/${name}\\.sql: "${name}" is the name of a relation that refreshes make$`),
  ])
for (const name of ['order', 'left', 'table'])
  refused.push([
    `the name ${name}`,
    { [`${name}.sql`]: 'select 1 as customer' },
    new RegExp(`/${name}\\.sql: "${name}" is a word of SQL`),
  ])
for (const select of ['1 as x, 2 as x', '1 as x, 2 as "X", 3 as x_1'])
  refused.push([
    select,
    { 'a.sql': `select 1 as customer, ${select}` },
    /a\.sql: two columns are named "X"$/i,
  ])
for (const statement of [
  'create table x as select 1',
  'drop table x',
  "attach 'x.db'",
  "copy b to 'x'",
  'set threads = 1',
  'insert into b values (1)',
])
  refused.push([
    statement,
    { 'a.sql': statement, 'b.sql': 'select 1 as x' },
    /a\.sql: a model is one SELECT, nothing else/,
  ])
for (const name of [
  'read_parquet',
  'read_csv',
  'read_json',
  'read_text',
  'read_blob',
  'glob',
  'query',
  'query_table',
  'duckdb_settings',
])
  refused.push([
    name,
    { 'a.sql': `select 1 as x from ${name}('x')` },
    new RegExp(`a\\.sql: a model reads relations, not ${name}\\(…\\)`),
  ])
refused.push([
  'a path',
  { 'a.sql': "select 1 as x from '/etc/x.parquet'" },
  /a\.sql: no relation "\/etc\/x\.parquet"/,
])

for (const [fact, files, message] of refused) {
  t.test(`refused: ${fact}`, async (t) => {
    await t.rejects(loadFiles(t, files), { message })
  })
}
