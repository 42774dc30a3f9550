import postgres from 'postgres'
import t from 'tap'
import { inBrandAtOnce, setsBrand } from '../src/store/one-trip.ts'
import { statement } from '../src/store/sqlfile.ts'
import { brand as makeBrand } from './fixtures/brand.ts'
import { database } from './fixtures/database.ts'

/** A statement with its transaction in one go. */
const db = await database(t)
const brand = await makeBrand(db)
const pool = (max: number) => {
  const made = db.postgres.pool({ max, connection: { role: 'recoup_app' } as never })
  t.teardown(() => made.end({ timeout: 1 }))
  return made
}
const app = pool(2)
const owner = postgres(db.url, { max: 1, onnotice: () => {} })
t.teardown(() => owner.end())
const once = (text: string, args: unknown[] = [], sql = app) =>
  inBrandAtOnce<Record<string, unknown>[]>(sql, brand.id, text, args)

t.test('sees its brand, and leaves none behind', async (t) => {
  t.same(await once('select id, current_brand() as set from brand'), [{ id: brand.id, set: brand.id }])
  for (let at = 0; at < 4; at++)
    t.same(await app`select nullif(current_setting('app.brand', true), '') as set`, [{ set: null }])
})

t.test('many at once share few connections', async (t) => {
  const answers = await Promise.all(
    Array.from({ length: 100 }, (_, at) => once('select $1::int as at, id from brand', [at])),
  )
  t.same(
    answers.map(([row]) => row?.at),
    Array.from({ length: 100 }, (_, at) => at),
  )
})

t.test('a statement that fails changes nothing, says why, and spoils no other', async (t) => {
  const failing = () => once("update brand set name = case when name = 'x' then name else (1 / 0)::text end")
  const results = await Promise.allSettled([
    failing(),
    once('select id from brand'),
    failing(),
    once('select id from brand'),
  ])
  t.same(
    results.map(({ status }) => status),
    ['rejected', 'fulfilled', 'rejected', 'fulfilled'],
  )
  t.match((results[0] as PromiseRejectedResult).reason, { code: '22012' })
  t.match(await once('select name from brand'), [{ name: brand.name }])
})

t.test('a constraint that is looked at with the commit fails it', async (t) => {
  await owner`create table deferred_check (brand_id uuid, id int unique deferrable initially deferred)`
  await owner`grant all on deferred_check to recoup_app`
  await t.rejects(
    once('insert into deferred_check select $1::uuid, 1 from generate_series(1, 2)', [brand.id]),
    { code: '23505' },
  )
  t.same(await owner`select from deferred_check`, [])
})

t.test('a plan that became stale is made anew, and the brand holds for it', async (t) => {
  const sql = pool(1)
  await owner`create table changing (brand_id uuid, n int)`
  await owner`call wall('changing')`
  await owner`insert into changing values (${brand.id}, 1)`
  const read = () => once('select n from changing where brand_id = $1', [brand.id], sql)
  const write = () => once('update changing set n = n + 1 where brand_id = $1 returning n', [brand.id], sql)
  t.match([await read(), await write()], [[{ n: 1 }], [{ n: 2 }]])
  await owner`alter table changing alter n type numeric(5, 1)`
  t.match([await read(), await write(), await write()], [[{ n: '2.0' }], [{ n: '3.0' }], [{ n: '4.0' }]])
})

t.test('a connection that breaks fails its statement only', async (t) => {
  const sql = pool(1)
  for (let round = 0; round < 3; round++) {
    const slow = once('select pg_sleep(60)', [], sql)
    const waiting = once('select id from brand', [], sql).catch(() => once('select id from brand', [], sql))
    const ended = slow.catch((error) => error)
    while (
      !(
        await owner`
      select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and query like '%pg_sleep(60)%' and pid <> pg_backend_pid()`
      ).count
    );
    t.ok((await ended) instanceof Error)
    t.match(await waiting, [{ id: brand.id }])
  }
})

t.test('a brand id that is not a UUID is refused', async (t) => {
  await t.rejects(inBrandAtOnce(app, "x'; drop table brand; --", 'select 1', []), TypeError)
})

t.test('a function that sets the brand sees its brand alone, and leaves none behind', async (t) => {
  const text = statement('postgres', 'customer_found')
  t.ok(setsBrand(text))
  const other = await makeBrand(db)
  await owner`
    insert into customer (brand_id, subject, id, provenance)
    values (${brand.id}, 1, 'ours', 'server'), (${other.id}, 1, 'theirs', 'server')`
  const one = pool(1)
  const found = async (id: string) =>
    (await one.unsafe(text, [brand.id, id, false], { prepare: true })).map(({ customer_id }) => customer_id)
  for (let at = 0; at < 4; at++) {
    t.same([await found('ours'), await found('theirs')], [['ours'], []])
    t.same(await one`select nullif(current_setting('app.brand', true), '') as set`, [{ set: null }])
  }
  await t.rejects(found('\0'), { code: '22021' })
  t.same(await one`select id from customer`, [], 'nor does a failure')
})

t.test('only a statement that is such a call and nothing else goes without a transaction', async (t) => {
  for (const text of [
    'select id from customer where brand_id = $1',
    'select id\nfrom in_brand_customer_found($1, $2, $3)\njoin customer using (id)',
    'select id\nfrom in_brand_customer_found($2, $3, $4)',
    'select id\nfrom customer_found($1, $2)',
  ])
    t.notOk(setsBrand(text), text)
})
