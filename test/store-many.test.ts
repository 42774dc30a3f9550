import t from 'tap'
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
    insert into checkout (brand_id, external_id, id, subject, state, currency_code, created_at, updated_at)
    select
      ${id}, n::text, gen_random_uuid(), case n when 1 then 1 end, 'open', 'USD', ${NOW},
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
