import postgres from 'postgres'
import t from 'tap'
import { brand } from './fixtures/brand.ts'
import { database } from './fixtures/database.ts'

/** Row-level security: the second wall between brands, behind the statements that bind the brand. */
const db = await database(t)
const [mine, other] = [await brand(db), await brand(db)]
const app = postgres(db.url, { max: 1, connection: { role: 'recoup_app' }, onnotice: () => {} })
t.teardown(() => app.end())
const as = (brandId: string, work: (tx: postgres.TransactionSql) => Promise<unknown>) =>
  app.begin(async (tx) => {
    await tx`select set_config('app.brand', ${brandId}, true)`
    return await work(tx)
  })

t.test('shows the app one brand', async (t) => {
  t.same(await as(mine.id, (tx) => tx`select id from brand`), [{ id: mine.id }])
  t.same(await as(mine.id, (tx) => tx`select brand_id from lake_brand`), [{ brand_id: mine.id }])
})

t.test('shows the app nothing without a brand, nor after the transaction that named one', async (t) => {
  t.same(await app`select id from brand`, [])
  await as(mine.id, (tx) => tx`select id from brand`)
  t.same(await app`select id from brand`, [])
})

t.test('lets the app write for its own brand only', async (t) => {
  const insert = (tx: postgres.TransactionSql, id: string) =>
    tx`insert into customer (brand_id, subject, id, provenance) values (${id}, 1, 'c', 'server')`
  await t.rejects(
    as(mine.id, (tx) => insert(tx, other.id)),
    { code: '42501' },
  )
  await as(mine.id, (tx) => insert(tx, mine.id))
  t.equal(((await as(other.id, (tx) => tx`update customer set email = 'x'`)) as { count: number }).count, 0)
})

t.test('shows the pipeline every brand', async (t) => {
  t.same(
    await db.postgres.sql`select id from brand order by id`,
    [mine, other].map(({ id }) => ({ id })).sort((a, b) => (a.id < b.id ? -1 : 1)),
  )
})

t.test('stands before every table that the app can read', async (t) => {
  const open = await db.postgres.sql`
    select relname from pg_class
    where relnamespace = 'public'::regnamespace and relkind in ('r', 'p', 'v', 'm')
      and has_any_column_privilege('recoup_app', oid, 'select')
      and not (relrowsecurity and relforcerowsecurity)
      and not (relkind = 'v' and reloptions @> '{security_invoker=true}')`
  t.same(open, [])
})

t.test('keeps events of all brands from the app, which only adds to them', async (t) => {
  await t.rejects(app`select from event_log`, { code: '42501' })
  const [{ partition } = {}] = await db.postgres.sql`
    select inhrelid::regclass::text as partition from pg_inherits where inhparent = 'event_log'::regclass limit 1`
  await t.rejects(app`select from ${app(partition)}`, { code: '42501' })
  await t.rejects(app`call event_log_drop_before('2999-01-01')`, { code: '42501' })
  const added = await app`
    insert into event_log (received_at, batch_id, event_count, payload) values (now(), ${mine.id}, 1, '')
    on conflict do nothing`
  t.equal(added.count, 1)
})

t.test('holds for the pools of openPostgres', async (t) => {
  const [role] = await db.postgres.sql`select current_user as now, session_user as login`
  t.same(role, { now: 'recoup_pipeline', login: 'recoup' })
  const superuser = await db.postgres
    .sql`select from pg_roles where rolname = session_user and (rolsuper or rolbypassrls)`
  t.same(superuser, [], 'not even the owner is above it')
})
