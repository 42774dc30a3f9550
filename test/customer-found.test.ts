import t from 'tap'
import type { Brand } from '../src/op.ts'
import type { FoundCustomer, FoundVisitors } from '../src/ops/customer-rows.ts'
import { statement } from '../src/store/sqlfile.ts'
import { brand as makeBrand } from './fixtures/brand.ts'
import { database } from './fixtures/database.ts'
import { rowsRead } from './fixtures/rows-read.ts'

const CUSTOMERS = 30_000
const MOST_READ = 1_000
const db = await database(t)
const brand = await makeBrand(db)
const { sql } = db.postgres

await sql`
  insert into customer (brand_id, subject, id, email, provenance)
  select ${brand.id}, n, 'customer-' || n, n || '@example.com', 'server' from generate_series(1, ${CUSTOMERS}::integer) as n`
await sql`
  insert into identifier (brand_id, kind, value, subject)
  select brand_id, 'email', email, subject from customer where brand_id = ${brand.id}`
await sql`
  insert into subject_redirect (brand_id, subject, customer)
  select ${brand.id}, n, n - 1 from generate_series(100, ${CUSTOMERS}::integer, 100) as n`
await sql`
  insert into contact (brand_id, id, subject, email)
  select brand_id, gen_random_uuid(), subject, 'now-' || email from customer where brand_id = ${brand.id}`
await sql`
  insert into conversation (brand_id, id, contact_id, channel)
  select brand_id, gen_random_uuid(), id, 'email' from contact where brand_id = ${brand.id}`
await sql`
  insert into identifier_claim (brand_id, kind, value, subject, source)
  values (${brand.id}, 'email', '29009@example.com', 29010, 'store')`
const NOBODYS = '01890a5d-ac96-774b-bcce-b302099a8057'
await sql`insert into contact (brand_id, id, email) values (${brand.id}, ${NOBODYS}, '29007@example.com')`
await sql`analyze customer, identifier, identifier_claim, subject_redirect, contact, conversation`

type Value = string | number | boolean | null | number[] | string[]

/** What a statement of a brand answers, and how many rows of tables Postgres looks at for it, in functions as well. */
async function asked<Row>(of: typeof db, { id }: Brand, name: string, values: readonly Value[]) {
  return await of.postgres.sql.begin(async (tx) => {
    await tx`set local role recoup_app`
    await tx`select set_config('app.brand', ${id}, true)`
    const found: Row[] = []
    const read = await rowsRead(tx, async () => {
      found.push(...(await tx.unsafe<Row[]>(statement('postgres', name), [id, ...values])))
    })
    return { found, read }
  })
}

const statements: readonly [what: string, name: string, values: Value[]][] = [
  ['by its id', 'customer_found', ['customer-29007', false]],
  ['by its id, with what it goes by', 'customer_found', ['customer-29007', true]],
  ['by its email', 'party_found', ['email', '29007@example.com']],
  ['by an email that another had, too', 'party_found', ['email', '29009@example.com']],
  ['by its id or a contact', 'party_found', ['none', 'customer-29007']],
  ['by its id, with all ordinals', 'subjects_named', ['profile_id', 'customer-29007']],
  ['by its email, with all ordinals', 'subjects_named', ['email', '29007@example.com']],
  [
    'by an address of before, with a conversation',
    'conversation_open',
    ['email', '29008@example.com', null, true],
  ],
  ['by the address of a contact of nobody', 'contact_of_holder', [NOBODYS, 'email', null]],
  ['with its channels', 'channels_of_customers', [[100], ['order'], ['none']]],
]
for (const [what, name, values] of statements)
  t.test(`a customer is found ${what} without reading the others`, async (t) => {
    const { found, read } = await asked(db, brand, name, values)
    t.ok(found.length > 0 && read > 0 && read < MOST_READ, `${read} rows`)
  })

t.test('of a customer with any number of visitors', async (t) => {
  const VISITORS = 3_000
  const fresh = await database(t)
  const brand = await makeBrand(fresh)
  const { sql } = fresh.postgres
  await sql`
    insert into customer (brand_id, subject, id, provenance)
    select ${brand.id}, n, 'customer-' || n, case n when 1 then 'server' else 'pixel' end
    from generate_series(1, ${VISITORS + 1}::integer) as n`
  await sql`
    insert into identifier (brand_id, kind, value, subject)
    select brand_id, 'anonymous_id', 'v' || subject, subject from customer where provenance = 'pixel'`
  await sql`
    insert into subject_redirect (brand_id, subject, customer)
    select brand_id, subject, 1 from customer where provenance = 'pixel'`
  const newest = Array.from({ length: 100 }, (_, n) => `v${VISITORS + 1 - n}`)

  for (const known of ['before the tables are analyzed', 'afterwards']) {
    await t.test(`the newest hundred alone are read, ${known}`, async (t) => {
      const { read, found } = await asked(fresh, brand, 'visitors_of', [[1]])
      t.same(found, [{ customer: 1, visitor_ids: newest }])
      t.ok(read < MOST_READ, `${read} rows`)
    })
    await sql`analyze customer, identifier, subject_redirect`
  }
  await t.test('the newest hundred are shown beside all of its ordinals', async (t) => {
    const { found } = await asked<FoundCustomer & FoundVisitors>(fresh, brand, 'customer_found', [
      'customer-1',
      true,
    ])
    t.match(found, [{ visitor_ids: newest, subjects: { length: VISITORS + 1 } }])
  })
})
