import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { askOf } from '../src/connect/import/ask.ts'
import { importContacts } from '../src/connect/import/contacts.ts'
import { importFile } from '../src/connect/import/import.ts'
import { setConsent, upsertContact } from '../src/identity/contact.ts'
import { analyze } from './fixtures/analyze.ts'
import { brand } from './fixtures/brand.ts'
import { database } from './fixtures/database.ts'
import { lake } from './fixtures/lake.ts'
import { rowsRead } from './fixtures/rows-read.ts'

const db = await database(t)
const pipeline = await lake(t, db)
const { sql } = db.postgres
const OLD = '+14155552671'
const NEW = '+14155552672'

/** A brand, and ways to import customers into it and to read what its contacts show. */
async function store(t: Test) {
  const folder = mkdtempSync(join(tmpdir(), 'recoup-contact-test-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const owner = await brand(db)
  let files = 0
  const run = async (...lines: string[]) => {
    const file = join(folder, `${++files}.csv`)
    writeFileSync(file, lines.join('\n'))
    return await importFile({ pipeline, brand: owner, kind: 'customers', file })
  }
  const customers = (...rows: string[]) =>
    run('customer_external_id,phone,sms_consent,sms_consent_at,updated_at', ...rows)
  const shown = async () =>
    (
      await sql`select phone, sms_consent from contact where brand_id = ${owner.id} order by phone nulls last, id`
    ).map(({ phone, sms_consent }) => [phone, sms_consent])
  const nobody = (phone: string, state: 'subscribed' | 'unsubscribed') =>
    db.postgres.forBrand(owner.id).tx(async (tx) => {
      const none = { subject: null, email: null, firstName: null, lastName: null }
      const put = await upsertContact(tx, { ...none, phone })
      if ('contactId' in put)
        await setConsent(tx, put.contactId, 'sms', state, 'test', new Date('2026-02-01T00:00:00Z'))
    })
  return { owner, run, customers, shown, nobody }
}

const YES = `7,${OLD},yes,2026-01-01T00:00:00Z,2026-01-01T00:00:00Z`

t.test(
  'the contact of an imported customer follows to a newer number, without the consent of the old',
  async (t) => {
    const { customers, shown } = await store(t)
    await customers(YES)
    await customers(`7,${NEW},,,2026-02-01T00:00:00Z`)
    t.same(await shown(), [[NEW, 'unknown']])
  },
)

t.test('and to a newer email, whose row says a consent for it', async (t) => {
  const { owner, run } = await store(t)
  const columns = 'customer_external_id,email,email_consent,email_consent_at,updated_at'
  await run(columns, '7,a@example.com,yes,2026-01-01T00:00:00Z,2026-01-01T00:00:00Z')
  await run(columns, '7,b@example.com,yes,2026-02-01T00:00:00Z,2026-02-01T00:00:00Z')
  t.match(await sql`select email, email_consent from contact where brand_id = ${owner.id}`, [
    { email: 'b@example.com', email_consent: 'subscribed' },
  ])
})

t.test('a yes at the old number does not hold at the new one, and does again with the old', async (t) => {
  const { customers, shown } = await store(t)
  await customers(YES)
  await customers(`7,${NEW},,,2026-02-01T00:00:00Z`)
  await customers(`7,${OLD},,,2026-03-01T00:00:00Z`)
  t.same(await shown(), [[OLD, 'subscribed']])
})

t.test('who refused at the old number stays so at the new one', async (t) => {
  const { customers, shown } = await store(t)
  await customers(`7,${OLD},no,2026-01-01T00:00:00Z,2026-01-01T00:00:00Z`)
  await customers(`7,${NEW},,,2026-02-01T00:00:00Z`)
  t.same(await shown(), [[NEW, 'unsubscribed']])
})

t.test('a yes at the new number from before the refusal takes it back no more than elsewhere', async (t) => {
  const { customers, shown } = await store(t)
  await customers(`7,${OLD},no,2026-03-01T00:00:00Z,2026-01-01T00:00:00Z`)
  await customers(`7,${NEW},yes,2026-02-01T00:00:00Z,2026-04-01T00:00:00Z`)
  t.same(await shown(), [[NEW, 'unsubscribed']])
})

t.test('an older row moves no contact', async (t) => {
  const { customers, shown } = await store(t)
  await customers(YES)
  await customers(`7,${NEW},yes,2025-01-01T00:00:00Z,2025-01-01T00:00:00Z`)
  t.same(await shown(), [[OLD, 'subscribed']])
})

t.test('of rows of one file the newest moves it, in whichever order they are', async (t) => {
  const { customers, shown } = await store(t)
  await customers(YES)
  await customers(`7,${NEW},,,2026-03-01T00:00:00Z`, `7,+14155552673,,,2026-02-01T00:00:00Z`)
  t.same(await shown(), [[NEW, 'unknown']])
})

t.test('a blank number leaves what is known', async (t) => {
  const { customers, shown } = await store(t)
  await customers(YES)
  await customers('7,,,,2026-02-01T00:00:00Z')
  t.same(await shown(), [[OLD, 'subscribed']])
})

t.test('two customers of a file exchange their numbers', async (t) => {
  const { owner, customers } = await store(t)
  await customers(YES, `8,${NEW},yes,2026-01-01T00:00:00Z,2026-01-01T00:00:00Z`)
  await customers(`7,${NEW},,,2026-02-01T00:00:00Z`, `8,${OLD},,,2026-02-01T00:00:00Z`)
  const rows = await sql`
    select store_customer_id, contact.phone, sms_consent
    from contact join customer using (brand_id, subject)
    where brand_id = ${owner.id} order by 1`
  t.match(rows, [
    { store_customer_id: '7', phone: NEW, sms_consent: 'unknown' },
    { store_customer_id: '8', phone: OLD, sms_consent: 'unknown' },
  ])
})

t.test('a number that another customer has stays with them until they leave it', async (t) => {
  const { owner, customers } = await store(t)
  const phones = async () =>
    (
      await sql`
        select contact.phone from contact join customer using (brand_id, subject)
        where brand_id = ${owner.id} order by store_customer_id`
    ).map(({ phone }) => phone)
  await customers(YES, `8,${NEW},yes,2026-01-01T00:00:00Z,2026-01-01T00:00:00Z`)
  await customers(`7,${NEW},,,2026-02-01T00:00:00Z`)
  t.same(await phones(), [null, NEW])
  await customers(`8,+14155552673,,,2026-03-01T00:00:00Z`)
  t.same(await phones(), [NEW, '+14155552673'])
})

t.test('what somebody unknown said at the new number is said by whom it belongs to', async (t) => {
  const { customers, shown, nobody } = await store(t)
  await nobody(NEW, 'unsubscribed')
  await customers(YES)
  await customers(`7,${NEW},,,2026-02-01T00:00:00Z`)
  t.same(
    (await shown()).filter(([phone]) => phone !== null),
    [[NEW, 'unsubscribed']],
  )
})

t.test('the same file again changes no contact', async (t) => {
  const { owner, customers } = await store(t)
  await customers(YES)
  const moved = `7,${NEW},,,2026-02-01T00:00:00Z`
  await customers(moved)
  const contacts = async () => [...(await sql`select * from contact where brand_id = ${owner.id}`)]
  const before = await contacts()
  await customers(moved)
  t.same(await contacts(), before)
})

t.test('the same file again does not take back what the person said since', async (t) => {
  const { owner, customers, shown } = await store(t)
  await customers(YES)
  // As a message of theirs that came in moves it.
  await sql`update contact set phone = ${NEW} where brand_id = ${owner.id}`
  await customers(YES, `8,+14155552673,yes,2026-01-01T00:00:00Z,2026-01-01T00:00:00Z`)
  t.match(await shown(), [
    [NEW, 'unknown'],
    ['+14155552673', 'subscribed'],
  ])
})

t.test('a contact has the names of the record, whatever older or partial rows say', async (t) => {
  const { owner, run } = await store(t)
  const named = (row: string) =>
    run('customer_external_id,phone,first_name,last_name,sms_consent,sms_consent_at,updated_at', row)
  const names = async () => {
    const [row] = await sql`
      select
        coalesce(contact.first_name, customer.first_name) as first_name,
        coalesce(contact.last_name, customer.last_name) as last_name
      from contact join customer using (brand_id, subject) where brand_id = ${owner.id}`
    return { ...row }
  }
  await named(`7,${OLD},Ann,Smith,yes,2026-02-01T00:00:00Z,2026-02-01T00:00:00Z`)
  await named(`7,${OLD},Anne,,,,2026-01-01T00:00:00Z`)
  t.same(await names(), { first_name: 'Ann', last_name: 'Smith' })
  await named(`7,${NEW},,Jones,,,2026-03-01T00:00:00Z`)
  t.match(await sql`select first_name, last_name from contact where brand_id = ${owner.id}`, [
    { first_name: 'Ann', last_name: 'Jones' },
  ])
})

t.test('of two customers who move to a number one has it, and what was said there', async (t) => {
  const { owner, customers, nobody } = await store(t)
  await nobody(NEW, 'unsubscribed')
  await customers(YES, `8,+14155552673,yes,2026-01-01T00:00:00Z,2026-01-01T00:00:00Z`)
  await customers(`7,${NEW},,,2026-03-01T00:00:00Z`, `8,${NEW},,,2026-03-01T00:00:00Z`)
  const said = await sql`
    select store_customer_id, contact.phone, contact_consent.state
    from contact
    join customer using (brand_id, subject)
    join contact_consent on contact_consent.brand_id = contact.brand_id and contact_id = contact.id
    where contact.brand_id = ${owner.id} and contact_consent.address = ${NEW}
    order by contact.phone nulls last`
  t.same(
    said.map((row) => ({ ...row })),
    [
      { store_customer_id: '7', phone: NEW, state: 'unsubscribed' },
      // That of nobody, which has no number any more.
      { store_customer_id: '7', phone: null, state: 'unsubscribed' },
    ],
  )
})

t.test(
  'contacts of a brand that is newer than the statistics follow without reading all of it',
  async (t) => {
    const rows = 300
    const [known, young] = [await store(t), await store(t)]
    const many = Array.from(
      { length: rows },
      (_, n) => `${n + 1},+1415555${2000 + n},yes,,2026-01-01T00:00:00Z`,
    )
    await known.customers(...many)
    await analyze(sql)
    await young.customers(...many)
    const moved = await sql<{ subject: number; phone: string }[]>`
    update customer set phone = replace(phone, '+1415', '+1416') where brand_id = ${young.owner.id} returning subject, phone`
    const subjects = Int32Array.from(moved.map(({ subject }) => subject))
    const read = await sql.begin((tx) =>
      rowsRead(tx, () =>
        importContacts(askOf(tx, young.owner.id), JSON.stringify(moved), subjects, [...subjects]),
      ),
    )
    t.ok(read < rows * 100, `${read} rows`)
    t.match((await young.shown())[rows - 1], [/^\+1416/, 'unknown'])
  },
)
