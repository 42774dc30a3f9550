import t, { type Test } from 'tap'
import { setLogLevel } from '../src/log.ts'
import { migrate } from '../src/store/migrate.ts'
import { openPostgres, type Postgres } from '../src/store/postgres.ts'
import { statement } from '../src/store/sqlfile.ts'
import { analyze } from './fixtures/analyze.ts'
import { cluster } from './fixtures/cluster.ts'
import { type Database, database } from './fixtures/database.ts'
import { eventually } from './fixtures/eventually.ts'
import { connectedBrand, storeServer } from './fixtures/store.ts'
import { checkout, order, refund } from './fixtures/store-bodies.ts'

setLogLevel('error')

const ROWS = 6_000
const EACH = 6
const AT = '2026-11-20T10:00:00Z'

const customer = (id: number) => ({ id, email: `c${id}@example.com` })
const WEBHOOKS: Record<string, (id: number) => string> = {
  'customers/update': (id) =>
    JSON.stringify({
      ...customer(id),
      phone: `+1202${5_000_000 + id}`,
      first_name: 'Ann',
      last_name: 'Lee',
      tags: '',
      created_at: AT,
      updated_at: AT,
      email_marketing_consent: { state: 'subscribed', consent_updated_at: AT },
      sms_marketing_consent: null,
    }),
  'orders/paid': (id) =>
    order({ ...customer(id), customer: customer(id), checkout_token: `paid${id}`, name: `#${id}` }),
  'orders/create': (id) => order({ id: ROWS + id, email: `guest${id}@example.com`, customer: null }),
  'checkouts/create': (id) => checkout({ ...customer(id), customer: customer(id), token: `token${id}` }),
  'refunds/create': (id) => refund({ id, order_id: id }),
}

const STORED = [
  `insert into customer (brand_id, subject, id, store_customer_id, email, provenance)
    select $1, n, gen_random_uuid()::text, n::text, 'f' || n || '@example.com', 'server' from generate_series(1, $2::integer) as n`,
  `insert into contact (brand_id, id, subject, email)
    select $1, gen_random_uuid(), n, 'f' || n || '@example.com' from generate_series(1, $2::integer) as n`,
  `insert into store_version (brand_id, kind, external_id, updated_at, triggered_at)
    select $1, kind, n::text, now(), now()
    from generate_series(1, $2::integer) as n, unnest('{order,customer,checkout,refund}'::text[]) as kind`,
  `insert into store_order (brand_id, external_id, id, subject, state, billing_status, currency_code, total, created_at, updated_at)
    select $1, n::text, gen_random_uuid(), n, 'complete', 'paid', 'USD', 1, now(), now() from generate_series(1, $2::integer) as n`,
  `insert into checkout (brand_id, external_id, id, subject, state, currency_code, created_at, updated_at, token)
    select $1, n::text, gen_random_uuid(), n, 'open', 'USD', now(), now(), 'o' || n from generate_series(1, $2::integer) as n`,
  `insert into refund (brand_id, external_id, id, order_external_id, currency_code, total, created_at)
    select $1, n::text, gen_random_uuid(), n::text, 'USD', 1, now() from generate_series(1, $2::integer) as n`,
  'update brand set next_subject = $2::integer + 1 where id = $1',
]

t.test('a webhook reads few rows, however many its brand has', async (t) => {
  const db = await database(t)
  const brand = await brandOf(db, ROWS)
  await analyze(db.postgres.sql)
  await readsFew(t, db, brand)
})

t.test('so it does soon after its brand came beside one of ten times as many', async (t) => {
  const { url } = await cluster(t, { autovacuum_naptime: '1s' })
  await migrate(url)
  const postgres = openPostgres(url)
  t.teardown(() => postgres.close())
  const db = { url, postgres }
  await brandOf(db, 10 * ROWS)
  await analyze(postgres.sql)
  const brand = await brandOf(db, ROWS)
  await eventually(async () => {
    const expected = await Promise.all(FILLED.map((table) => rowsExpected(postgres, table, brand.id)))
    return expected.every((rows) => rows > ROWS / 2)
  })
  await readsFew(t, db, brand)
})

t.test('a page of orders reads no others, also before Postgres looked at any', async (t) => {
  const db = await database(t)
  const { sql } = db.postgres
  const brand = await brandOf(db, 3 * ROWS)
  const ids = Array.from({ length: 50 }, (_, at) => String(at + 1))
  const nothingNew = ids.map(() => null)
  const [row] = await sql.unsafe(
    `explain (analyze, format json) ${statement('postgres', 'store_orders_settle')}`,
    [brand.id, ids, nothingNew, nothingNew, nothingNew, nothingNew, nothingNew] as never[],
  )
  t.ok(rowsOf(row?.['QUERY PLAN'][0].Plan) < 50 * 20)
})

t.test(
  'Postgres looks at each table of brands again after 2,000 new rows, however many it has',
  async (t) => {
    const { postgres } = await database(t)
    const others = await postgres.sql`
    select relname as name, reloptions as options
    from pg_attribute join pg_class on pg_class.oid = attrelid
    where attname = 'brand_id' and relnamespace = 'public'::regnamespace and relkind = 'r' and not relispartition
      and not coalesce(
        reloptions @> '{autovacuum_analyze_scale_factor=0,autovacuum_analyze_threshold=2000}', false)`
    t.same(others, [])
  },
)

const FILLED = ['customer', 'contact', 'store_version', 'store_order', 'checkout']

interface Step {
  'Actual Rows': number
  'Actual Loops': number
  Plans?: Step[]
}

/** What all steps of a plan came to. */
const rowsOf = ({ 'Actual Rows': rows, 'Actual Loops': loops, Plans = [] }: Step): number =>
  Plans.reduce((sum, step) => sum + rowsOf(step), rows * loops)

/** How many rows of a brand the planner takes a table to have. */
async function rowsExpected({ sql }: Postgres, table: string, brandId: string): Promise<number> {
  const [row] = await sql`explain (format json) select from ${sql(table)} where brand_id = ${brandId}`
  return row?.['QUERY PLAN'][0].Plan['Plan Rows']
}

async function brandOf(db: Database, rows: number) {
  const brand = await connectedBrand(db, { connectedAt: new Date('2026-11-01T00:00:00Z') })
  for (const text of STORED) await db.postgres.sql.unsafe(text, [brand.id, rows])
  return brand
}

async function readsFew(t: Test, db: Database, brand: Awaited<ReturnType<typeof brandOf>>): Promise<void> {
  const { sql } = db.postgres
  const rowsRead = async () => {
    const [{ rows } = {}] =
      await sql`select sum(seq_tup_read + coalesce(idx_tup_fetch, 0))::float as rows from pg_stat_user_tables`
    return Number(rows)
  }
  /** What sessions of their own read: each counts it by when it has ended. */
  const readBy = async (topic: string, bodyOf: (id: number) => string) => {
    const own = openPostgres(db.url)
    const sessions = async () => {
      const [{ count } = {}] =
        await sql`select count(*)::integer from pg_stat_activity where datname = current_database()`
      return Number(count)
    }
    const [before, open] = [await rowsRead(), await sessions()]
    const { send } = await storeServer(t, { ...db, postgres: own })
    for (let id = 1; id <= EACH; id++) {
      const { body } = await send(brand, { topic, body: bodyOf(10 * ROWS + id), triggeredAt: new Date(AT) })
      t.same(body, { ok: true })
    }
    await own.close()
    await eventually(async () => (await sessions()) <= open)
    return ((await rowsRead()) - before) / EACH
  }
  for (const [topic, bodyOf] of Object.entries(WEBHOOKS)) {
    const read = Math.round(await readBy(topic, bodyOf))
    t.ok(read < 500, `${topic}: ${read} rows`)
  }
}
