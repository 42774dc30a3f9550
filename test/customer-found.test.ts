import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { CHECKOUT } from '../src/config.ts'
import { brand as makeBrand } from './fixtures/brand.ts'
import { database } from './fixtures/database.ts'

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

/** Rows of tables that Postgres looks at for a statement of the brand, in functions as well. */
async function rowsRead(name: string, values: readonly Value[]): Promise<number> {
  const text = readFileSync(join(CHECKOUT, 'sql', 'postgres', `${name}.sql`), 'utf8')
  return await sql.begin(async (tx) => {
    await tx`set local role recoup_app`
    await tx`select set_config('app.brand', ${brand.id}, true)`
    const soFar = async () => {
      const [all] = await tx<{ read: number }[]>`
        select sum(seq_tup_read + coalesce(idx_tup_fetch, 0))::integer as read from pg_stat_xact_user_tables`
      return all?.read ?? 0
    }
    const before = await soFar()
    const found = await tx.unsafe(text, [brand.id, ...values])
    if (found.length === 0) throw new Error('nobody is found')
    return (await soFar()) - before
  })
}

const statements: readonly [what: string, name: string, values: Value[]][] = [
  ['by its id', 'customer/customer_found', ['customer-29007', false]],
  ['by its id, with what it goes by', 'customer/customer_found', ['customer-29007', true]],
  ['by its email', 'customer/party_found', ['email', '29007@example.com']],
  ['by an email that another had, too', 'customer/party_found', ['email', '29009@example.com']],
  ['by its id or a contact', 'customer/party_found', ['none', 'customer-29007']],
  ['by its id, with all ordinals', 'commerce/subjects_named', ['profile_id', 'customer-29007']],
  ['by its email, with all ordinals', 'commerce/subjects_named', ['email', '29007@example.com']],
  [
    'by an address of before, with a conversation',
    'conversation/conversation_open',
    ['email', '29008@example.com', null, true],
  ],
  ['by the address of a contact of nobody', 'contact/contact_of_holder', [NOBODYS, 'email', null]],
  ['with its channels', 'contact/channels_of_customers', [[100], ['order'], ['none']]],
]
for (const [what, name, values] of statements)
  t.test(`a customer is found ${what} without reading the others`, async (t) => {
    const read = await rowsRead(name, values)
    t.ok(read > 0 && read < MOST_READ, `${read} rows`)
  })
