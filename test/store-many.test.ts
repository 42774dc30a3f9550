import t from 'tap'
import { forgetVersions } from '../src/connect/store/forget.ts'
import { statements } from '../src/store/postgres.ts'
import { analyze } from './fixtures/analyze.ts'
import { database } from './fixtures/database.ts'
import { rowsRead } from './fixtures/rows-read.ts'
import { connectedBrand } from './fixtures/store.ts'

const db = await database(t)
const { sql } = db.postgres
const NOW = new Date()
const MANY = 5_000

t.test('checkouts that name nobody are not read when those to abandon are looked for', async (t) => {
  const { id } = await connectedBrand(db, { connectedAt: NOW })
  await sql`
    insert into checkout (brand_id, external_id, id, subject, total, state, currency_code, created_at, updated_at)
    select
      ${id}, n::text, gen_random_uuid(), case n when 1 then 1 end, 1, 'open', 'USD', ${NOW},
      ${NOW}::timestamptz - make_interval(days => n)
    from generate_series(1, ${MANY}::integer) as n`
  await analyze(sql)
  const read = await sql.begin((tx) =>
    rowsRead(tx, async () => {
      const within = statements((text, args) => tx.unsafe(text, args as never[]))
      t.same([...(await within.many('store_brands_to_abandon', [NOW]))], [{ brand_id: id }])
      t.match(await within.many('store_checkouts_abandon', [id, NOW, 500]), [{ external_id: '1' }])
    }),
  )
  t.ok(read < MANY / 10, `${read} rows`)
})

t.test('what was noted of orders is not read when what is forgotten is looked for', async (t) => {
  const { id } = await connectedBrand(db, { connectedAt: NOW })
  await sql`
    insert into store_event (brand_id, id, created_at)
    select ${id}::uuid, 'order_created:' || n, ${NOW}::timestamptz - make_interval(days => n)
    from generate_series(1, ${MANY}::integer) as n
    union all
    select ${id}::uuid, 'cart_updated:1', ${NOW}::timestamptz - interval '61 days'`
  await analyze(sql)
  const read = await sql.begin((tx) =>
    rowsRead(tx, async () => {
      t.equal(await forgetVersions(statements((text, args) => tx.unsafe(text, args as never[]))), 1)
    }),
  )
  t.ok(read < MANY / 10, `${read} rows`)
})
