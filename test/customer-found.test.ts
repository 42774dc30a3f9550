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
await sql`analyze customer, identifier, subject_redirect`

interface Node {
  'Node Type': string
  'Relation Name'?: string
  'Actual Rows': number
  'Actual Loops': number
  'Rows Removed by Filter'?: number
  Plans?: Node[]
}

/** Rows of tables that Postgres looks at for a statement of the brand, with its values written out. */
async function rowsRead(name: string, values: readonly string[]): Promise<number> {
  const text = readFileSync(join(CHECKOUT, 'sql', 'postgres', `${name}.sql`), 'utf8')
  const whole = [`'${brand.id}'::uuid`, ...values]
  const written = text.replaceAll(/\$(\d+)/g, (_, n) => whole[Number(n) - 1] ?? 'null')
  return await sql.begin(async (tx) => {
    await tx`set local role recoup_app`
    await tx`select set_config('app.brand', ${brand.id}, true)`
    const [row] = await tx.unsafe<{ 'QUERY PLAN': [{ Plan: Node }] }[]>(
      `explain (analyze, format json) ${written}`,
    )
    return row ? readIn(row['QUERY PLAN'][0].Plan) : Number.NaN
  })
}

function readIn(node: Node): number {
  const {
    'Actual Rows': rows,
    'Actual Loops': loops,
    'Rows Removed by Filter': removed = 0,
    Plans = [],
  } = node
  const own = node['Relation Name'] ? (rows + removed) * loops : 0
  return Plans.reduce((sum, plan) => sum + readIn(plan), own)
}

const statements: readonly [what: string, name: string, values: string[]][] = [
  ['by its id', 'customer/customer_found', [`'customer-29007'`, 'false']],
  ['by its id, with what it goes by', 'customer/customer_found', [`'customer-29007'`, 'true']],
  ['by its email', 'customer/party_found', [`'email'`, `'29007@example.com'::text`]],
  ['by its id or a contact', 'customer/party_found', [`'none'`, `'customer-29007'::text`]],
  ['by its id, with all ordinals', 'commerce/subjects_named', [`'profile_id'`, `'customer-29007'`]],
  ['by its email, with all ordinals', 'commerce/subjects_named', [`'email'`, `'29007@example.com'`]],
  ['with its channels', 'contact/channels_of_customer', ['100']],
]
for (const [what, name, values] of statements)
  t.test(`a customer is found ${what} without reading the others`, async (t) => {
    t.ok((await rowsRead(name, values)) < MOST_READ)
  })
