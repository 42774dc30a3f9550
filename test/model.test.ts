import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { DuckDBConnection } from '@duckdb/node-api'
import t from 'tap'
import { CHECKOUT } from '../src/config.ts'
import { timeOf } from '../src/connect/import/time.ts'
import { checkGrains } from '../src/model/audit.ts'
import { modelDocs } from '../src/model/docs.ts'
import { loadModels, type Model, upstreamOf } from '../src/model/graph.ts'
import type { From } from '../src/model/header.ts'
import { ORDER_PRODUCTS, withProductsOfLines } from '../src/model/order-products.ts'
import { runModels } from '../src/model/run.ts'
import { hashOf, isEdited } from '../src/model/shipped.ts'
import { modelCases, runCase, withModels } from './fixtures/model-case.ts'
import { HEADER, loadFiles } from './fixtures/model-files.ts'

const RANDOM_STORE = 'test/fixtures/random-store.sql'

const models = await loadModels()

for (const [file, cases] of modelCases('test/models')) {
  t.test(file, async (t) => {
    await withModels(models, {}, async (connection) => {
      for (const one of cases) {
        await t.test(one.title, async (t) => {
          for (const { relation, expected, actual } of await runCase(connection, models, one))
            t.same(actual, expected, relation)
        })
      }
    })
  })
}

t.test('what is published as it is are texts of the model', async (t) => {
  for (const { name, columns, plain = [] } of models)
    for (const column of plain) t.equal(new Map(columns).get(column), 'VARCHAR', `${column} of ${name}`)
})

t.test('a model has no rows where what its header says they come from has none', async (t) => {
  const fromOf = new Map(models.map(({ name, from }) => [name, from]))
  const rootOf = ({ relation, where }: From): string => {
    const from = fromOf.get(relation)
    return from ? rootOf(from) : `${relation}${where ? ` where ${where}` : ''}`
  }
  await withModels(models, {}, async (connection) => {
    await connection.run(readFileSync(join(CHECKOUT, RANDOM_STORE), 'utf8'))
    for (const { name, from } of models) {
      if (from === undefined) continue
      await connection.run(`begin; delete from ${rootOf(from)}`)
      const [row] = (await connection.runAndReadAll(`select count(*) from ${name}`)).getRowsJson()
      await connection.run('rollback')
      t.same(row, ['0'], name)
    }
  })
})

t.test('models on whose SQL the program relies are as shipped', async (t) => {
  for (const shipped of ['customers', 'stg_orders', 'stg_order_lines', ORDER_PRODUCTS]) {
    const model = models.find(({ name }) => name === shipped)
    t.ok(model && !isEdited(model), `${shipped} is ${hashOf(model?.sql ?? '')} now`)
  }
})

t.test('products that are kept beside lines say what these do', async (t) => {
  await withModels(models, {}, async (connection) => {
    await connection.run(readFileSync(join(CHECKOUT, RANDOM_STORE), 'utf8'))
    const rows = async (sql: string) =>
      (await connection.runAndReadAll(`select * from (${sql}) order by all`)).getRowsJson()
    const byName = new Map(models.map((model) => [model.name, model]))
    const kept = byName.get(ORDER_PRODUCTS)?.sql ?? ''
    byName.delete(ORDER_PRODUCTS)
    withProductsOfLines(byName)
    const made = byName.get(ORDER_PRODUCTS)?.sql ?? ''
    t.not(made, kept)
    t.same(await rows(made), await rows(kept))
  })
})

t.test('a text is the same time on a profile as in a file that is imported', async (t) => {
  const clocks = ['10:00', 't10:00:00', 'T9:5', ' 23:59:59.5', ' 24:00', '']
  const names = ['Europe/Berlin', ' etc/gmt-14', ' Etc/UTC', 'BST', ' America/Argentina/Buenos_Aires', ' a/b']
  const words = ['', ' ', 'z', ' Z', 'utc', ' UTC', 'GMT', ' gmt ', 'UT']
  const offsets = [
    '+2',
    '-02',
    '+0530',
    '-5:30',
    '+05:30:15',
    '+15:59',
    '-16:00',
    '+99:00',
    '+01:60',
    '+530',
    '+',
    '+:',
  ]
  const zones = [...names, ...words, ...words.flatMap((word) => offsets.map((offset) => word + offset))]
  const texts = ['2026-07-13', '2026/7/3', '13.7.2026', '2026-7']
    .flatMap((day) => clocks.flatMap((clock) => zones.map((zone) => day + clock + zone)))
    .concat(['infinity', '2026', '10:00'])
  await withModels(models, {}, async (connection) => {
    await connection.run(
      `insert into events by name
       select n as subject, n::varchar as event_id, 'updateProperties' as event_type, timestamp '2026-01-01' as occurred_at,
         json_object('at', text) as properties
       from (select unnest($1::json::varchar[]) as text, generate_subscripts($1::json::varchar[], 1) as n)`,
      [JSON.stringify(texts)],
    )
    const rows = async (select: string) => (await connection.runAndReadAll(select)).getRowsJson()
    const read =
      "(select value, moment, trim(value) as text from stg_customer_attributes where value ~ '^[0-9].*')"
    const [[all, times] = []] = await rows(`select count(*)::integer, count(moment)::integer from ${read}`)
    t.equal(all, texts.length - 1)
    t.ok(Number(times) > texts.length / 10 && Number(times) < texts.length / 2, `${times} are times`)
    t.same(
      await rows(
        `select * from (select *, ${timeOf('text')} as imported from ${read}) where moment is distinct from imported`,
      ),
      [],
    )
  })
})

t.test('audits over a random store', async (t) => {
  await withModels(models, {}, async (connection) => {
    await connection.run(readFileSync(join(CHECKOUT, RANDOM_STORE), 'utf8'))
    const one = async (select: string) => (await connection.runAndReadAll(select)).getRowsJson()[0]

    for (const model of models) {
      t.ok(
        Number((await one(`select count(*) from ${model.name}`))?.[0]) > 0,
        `${model.name} has rows over ${RANDOM_STORE}`,
      )
      await t.resolves(
        checkGrains(connection, [model]),
        `${model.name} has one row per ${model.grain.join(', ')}`,
      )
    }
    const net = (refunds: string) => `
      with counted as (
        select sum(total - refunded_total) as total, count(*)::integer as orders
        from stg_orders semi join stg_customers using (customer)
        where state = 'complete' and currency_code = 'USD'
      )
      select counted.total - (
        select sum(total) from stg_refunds ${refunds} where order_external_id is null and currency_code = 'USD'
      ), orders from counted`
    t.same(
      await one('select sum(ltv), sum(order_count)::integer from ltv'),
      await one(net('semi join ltv using (customer)')),
      'lifetime values sum to what the counted orders come to, less refunds that name no order',
    )
    t.same(
      await one('select sum(total_spend), sum(orders_count)::integer from customers'),
      await one(net('semi join stg_customers using (customer)')),
      'customers come to the same, with those who only got money back',
    )
    t.same(
      await one('select count(*)::integer, count(*) filter (orders_count > 0)::integer from customers'),
      [270, Number((await one('select count(*) from ltv'))?.[0])],
      'customers has every profile that is not merged, ltv those with orders',
    )
    t.same(
      await one('select sum(revenue) from cohorts'),
      await one('select sum(ltv) from ltv'),
      'the months of all cohorts come to the lifetime values',
    )
    t.same(
      await one(
        'select (count(distinct customer))::integer, sum(net_total) from orders semi join ltv using (customer) where counts',
      ),
      await one(`select (select sum(customers) from cohorts where month_number = 0)::integer, sum(total - refunded_total)
        from stg_orders semi join ltv using (customer) where state = 'complete' and currency_code = 'USD'`),
      'every customer with an order that counts is in one cohort',
    )
    for (const relation of ['rfm', 'churn', 'cadence semi join ltv using (customer)'])
      t.same(
        await one(`select count(*) from ${relation}`),
        await one('select count(*) from ltv'),
        `${relation} has the customers of ltv`,
      )
    t.same(
      await one(
        'select sum(revenue), sum(quantity)::integer, sum(order_count)::integer from product_performance',
      ),
      await one(`with line as (select id, unnest(lines) as line from orders where counts)
        select sum(line.total), sum(line.quantity)::integer, count(distinct (id, line.product_id))::integer from line`),
      'products come to the lines of the orders that count',
    )
    t.same(
      await one('select sum(item_count)::integer from stg_orders'),
      await one('select sum(quantity)::integer from stg_order_lines'),
      'the lines come to the items of their orders',
    )
  })
})

t.test('running', async (t) => {
  t.test('a grain that repeats or is missing is reported', async (t) => {
    const loaded = await loadFiles(t, {
      'a.sql': 'select n as customer from (values (1), (1), (2), (null)) as v (n)',
      'b.sql': `${HEADER.replace('customer', 'x, y')}select x, y from (values (1, 1), (1, 2), (1, null), (1, 2)) as v (x, y)`,
    })
    await withModels(loaded, {}, async (connection) => {
      const [a, b] = loaded as [Model, Model]
      await t.rejects(
        checkGrains(connection, [a, b]),
        /a\.sql: is not one row per customer, its grain: rows without a value: 1, rows that repeat one: 1$/,
      )
      await t.rejects(
        checkGrains(connection, [b]),
        /b\.sql: is not one row per x, y, its grain: rows without a value: 1, rows that repeat one: 1$/,
      )
    })
  })

  t.test('staging models become views and marts tables, again and again', async (t) => {
    await withModels([], {}, async (connection) => {
      await connection.run(`insert into customers_source (subject, customer_id) values (1, 'a'), (2, 'b')`)
      for (const customers of [2, 3]) {
        const seen: string[] = []
        const steps = await runModels(connection, models, { onStep: ({ name }) => seen.push(name) })
        t.same(
          seen,
          models.map(({ name }) => name),
        )
        t.match(
          steps.filter(({ name }) => name === 'customers' || name === 'ltv'),
          [
            { name: 'customers', materialized: 'table', rows: customers },
            { name: 'ltv', materialized: 'table', rows: 0 },
          ],
        )
        t.match(
          steps.find(({ name }) => name === 'stg_events'),
          { materialized: 'view', rows: null },
        )
        await connection.run(`insert into customers_source (subject, customer_id) values (3, 'c')`)
      }
    })
  })

  t.test('a locked instance runs all models', async (t) => {
    await withModels([], {}, async (connection) => {
      await connection.run('set enable_external_access = false')
      await connection.run('set lock_configuration = true')
      t.equal((await runModels(connection, models)).length, models.length)
    })
  })

  t.test('a model that fails is named by its file', async (t) => {
    const loaded = await loadFiles(t, {
      'a.sql': "select error('no rate') as customer from params where as_of > '2025-01-01'",
    })
    const run = (connection: DuckDBConnection) => runModels(connection, loaded)
    await t.rejects(withModels([], {}, run), { message: /a\.sql: Invalid Input Error: no rate/ })
  })

  t.test('a customer in a tier that rfm_tiers does not have fails it, with the name', async (t) => {
    const reads = upstreamOf(['rfm_tiers'], models).at(-1) as Model
    for (const [tier, named] of [
      ["'VIP'", 'VIP'],
      ['null', 'NULL'],
    ])
      await withModels([], {}, async (connection) => {
        await connection.run(
          `create table rfm as select 1 as customer, 3 as order_count, 50.00 as ltv, ${tier}::varchar as tier`,
        )
        await t.rejects(runModels(connection, [reads]), {
          message: `models/rfm_tiers.sql: Invalid Input Error: rfm.sql has a tier that is not here: ${named}`,
        })
      })
  })

  t.test('a customer in a bucket that ltv_buckets does not have fails it, with the name', async (t) => {
    const reads = upstreamOf(['ltv_buckets'], models).at(-1) as Model
    for (const [bucket, named] of [
      ["'VIP'", 'VIP'],
      ['null', 'NULL'],
    ])
      await withModels([], {}, async (connection) => {
        await connection.run(
          `create table ltv as select 1 as customer, 5000.00 as ltv, ${bucket}::varchar as bucket`,
        )
        await t.rejects(runModels(connection, [reads]), {
          message: `models/ltv_buckets.sql: Invalid Input Error: ltv.sql has a bucket that is not here: ${named}`,
        })
      })
  })
})

t.test('the documentation has every model with its columns, types and lineage', async (t) => {
  const text = modelDocs(models)
  for (const { name, what } of models) {
    t.match(text, new RegExp(`^### ${name}$`, 'm'))
    t.ok(text.includes(what.slice(1)), what)
  }
  t.match(text, '| total_spend | DECIMAL(18,2) |')
  t.match(text, '  stg_orders --> customers')
  t.match(text, /^- Read by: .*`ltv`/m)
  t.equal(text, modelDocs(models))
})
