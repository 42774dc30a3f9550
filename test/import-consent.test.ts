import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { eraseDue } from '../src/connect/erase/due.ts'
import { askOf } from '../src/connect/import/ask.ts'
import { importConsents } from '../src/connect/import/consents.ts'
import { importFile } from '../src/connect/import/import.ts'
import { type ConsentState, setConsent, upsertContact } from '../src/identity/contact.ts'
import { requestErasure } from '../src/identity/erasure-request.ts'
import type { Brand } from '../src/op.ts'
import { analyze } from './fixtures/analyze.ts'
import { brand } from './fixtures/brand.ts'
import { database } from './fixtures/database.ts'
import { lake } from './fixtures/lake.ts'
import { rowsRead } from './fixtures/rows-read.ts'

t.capture(process.stderr, 'write')
const db = await database(t)
const pipeline = await lake(t, db)
const { sql } = db.postgres

async function erase({ id }: Brand, email: string): Promise<void> {
  await db.postgres.forBrand(id).tx((tx) => requestErasure(tx, { email }, 'a test'))
  while (await eraseDue(pipeline, { brandId: id, patience: { readersMs: 0, writersMs: 0 } }));
}

/** A brand, and ways to import a text of customers into it and to read what its contacts show. */
async function store(t: Test) {
  const folder = mkdtempSync(join(tmpdir(), 'recoup-consent-test-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const owner = await brand(db)
  let files = 0
  const run = async (...lines: string[]) => {
    const file = join(folder, `${++files}.csv`)
    writeFileSync(file, lines.join('\n'))
    const report = await importFile({ pipeline, brand: owner, kind: 'customers', file })
    const rejects = report.rejects_file ? readFileSync(report.rejects_file, 'utf8').trimEnd().split('\n') : []
    return { report, rejects: rejects.map((line) => JSON.parse(line) as Record<string, unknown>) }
  }
  const shown = async () =>
    (
      await sql`
        select email, phone, email_consent, sms_consent from contact where brand_id = ${owner.id} order by email, phone`
    ).map(({ email, phone, email_consent, sms_consent }) => [email ?? phone, email_consent, sms_consent])
  const said = (email: string, state: ConsentState, at: string) =>
    db.postgres.forBrand(owner.id).tx(async (tx) => {
      const none = { subject: null, phone: null, firstName: null, lastName: null }
      const put = await upsertContact(tx, { ...none, email })
      if ('contactId' in put) await setConsent(tx, put.contactId, 'email', state, 'test', new Date(at))
    })
  return { owner, run, shown, said }
}

t.test('the words that files use for consent', async (t) => {
  const { run, shown } = await store(t)
  const yes = ['subscribed', 'Yes', 'TRUE', '1', 'opted in']
  const no = ['unsubscribed', 'no', 'False', '0', 'Not subscribed', 'never_subscribed', 'NON-SUBSCRIBED']
  const rows = [...yes, ...no, 'pending', ''].map((word, at) => `${10 + at}@example.com,${word}`)
  const { report } = await run('email,email_consent', ...rows)
  t.match(report, { imported: rows.length, rejected: 0, ignored_columns: [] })
  t.same(
    (await shown()).map(([, email]) => email),
    // Nobody has a contact of whom nothing is said.
    [...yes.map(() => 'subscribed'), ...no.map(() => 'unsubscribed'), 'pending'],
  )
})

t.test('an unknown word on consent rejects the row', async (t) => {
  const { run } = await store(t)
  const { report, rejects } = await run('email,sms_consent', 'a@example.com,perhaps', 'b@example.com,')
  t.match(report, { imported: 1, rejected: 1 })
  t.match(rejects, [
    { row: 1, field: 'sms_consent', value: 'perhaps', reason: /^is no word on consent such as yes, no/ },
  ])
})

t.test('the columns of a store’s export are consents without a mapping', async (t) => {
  const { run, shown } = await store(t)
  const { report } = await run(
    'Email,Accepts Email Marketing,Phone,Accepts SMS Marketing',
    'a@example.com,no,+14155552671,yes',
  )
  t.same(report.ignored_columns, [])
  t.same(await shown(), [['a@example.com', 'unsubscribed', 'subscribed']])
})

t.test('consent is of the channel whose address the row has', async (t) => {
  const { run, shown } = await store(t)
  await run('email,email_consent,sms_consent', 'a@example.com,yes,no')
  t.same(await shown(), [['a@example.com', 'subscribed', 'unknown']])
})

t.test('a yes without a time overrides no refusal', async (t) => {
  const { run, shown, said } = await store(t)
  await said('a@example.com', 'unsubscribed', '2001-01-01')
  await run('email,email_consent', 'A@example.com,yes')
  t.same(
    (await shown()).map(([, email]) => email),
    ['unsubscribed'],
  )
})

t.test('a yes of a time overrides an earlier refusal', async (t) => {
  const { run, shown, said } = await store(t)
  await said('a@example.com', 'unsubscribed', '2024-01-01')
  await run('email,email_consent,email_consent_at', 'a@example.com,yes,2025-01-01')
  t.same(
    (await shown()).filter(([address]) => address !== null).map(([, email]) => email),
    ['subscribed'],
  )
})

t.test('a yes of a time ahead is one without', async (t) => {
  const { run, shown, said } = await store(t)
  await said('a@example.com', 'unsubscribed', '2024-01-01')
  await run('email,email_consent,email_consent_at', 'a@example.com,yes,2099-01-01')
  t.same(
    (await shown()).filter(([address]) => address !== null).map(([, email]) => email),
    ['unsubscribed'],
  )
})

t.test('a no without a time holds against an earlier yes', async (t) => {
  const { run, shown, said } = await store(t)
  await said('a@example.com', 'subscribed', '2025-01-01')
  await run('email,email_consent', 'a@example.com,no')
  t.same(
    (await shown()).filter(([address]) => address !== null).map(([, email]) => email),
    ['unsubscribed'],
  )
})

t.test('a no of a time gives way to a later yes', async (t) => {
  const { run, shown, said } = await store(t)
  await said('a@example.com', 'subscribed', '2025-01-01')
  await run('email,email_consent,email_consent_at', 'a@example.com,no,2024-01-01')
  t.same(
    (await shown()).filter(([address]) => address !== null).map(([, email]) => email),
    ['subscribed'],
  )
})

t.test('a no holds though a row of the same person says yes', async (t) => {
  const { run, shown } = await store(t)
  await run('customer_external_id,email,email_consent', '7,a@example.com,no', '7,a@example.com,yes')
  t.same(await shown(), [['a@example.com', 'unsubscribed', 'unknown']])
})

t.test('a file that is imported again takes back no yes that came meanwhile', async (t) => {
  const { owner, run, shown, said } = await store(t)
  const lines = ['email,email_consent', 'a@example.com,no', 'b@example.com,yes']
  t.match((await run(...lines)).report, { imported: 2 })
  await said('a@example.com', 'subscribed', new Date().toISOString())
  const words = async () => [...(await sql`select * from contact_consent where brand_id = ${owner.id}`)]
  const before = await words()
  t.match((await run(...lines)).report, { imported: 0, unchanged: 2 })
  t.same(await words(), before)
  t.same(await shown(), [
    ['a@example.com', 'subscribed', 'unknown'],
    ['b@example.com', 'subscribed', 'unknown'],
  ])
})

t.test('a newer file that says no again is heard', async (t) => {
  const { run, shown, said } = await store(t)
  await run('email,email_consent', 'a@example.com,no')
  await said('a@example.com', 'subscribed', new Date().toISOString())
  const { report } = await run('email,email_consent', 'a@example.com,no', 'b@example.com,')
  t.equal(report.imported, 2)
  t.same(await shown(), [['a@example.com', 'unsubscribed', 'unknown']])
})

t.test('a refusal of an address is that of whose contact it is', async (t) => {
  const { run, shown } = await store(t)
  await run('customer_external_id,email,email_consent', '7,a@example.com,yes')
  await run('customer_external_id,email,email_consent', '8,a@example.com,no')
  t.same(
    (await shown()).map(([address, email]) => [address, email]),
    [
      ['a@example.com', 'unsubscribed'],
      [null, 'unsubscribed'],
    ],
  )
})

t.test('of who was erased an old file tells a refusal alone, for whoever has the address now', async (t) => {
  const { owner, run, shown, said } = await store(t)
  const lines = (word: string) => ['customer_external_id,email,email_consent', `7,a@example.com,${word}`]
  await run(...lines('yes'))
  await erase(owner, 'a@example.com')
  await said('a@example.com', 'unknown', '2025-01-01')
  await run(...lines('yes'))
  t.same(await shown(), [['a@example.com', 'unknown', 'unknown']])
  await run(...lines('no'))
  t.same(await shown(), [['a@example.com', 'unsubscribed', 'unknown']])
})

t.test('and for whoever has it next, until a newer yes', async (t) => {
  const { owner, run, shown, said } = await store(t)
  const lines = (word: string) => ['customer_external_id,email,email_consent', `7,a@example.com,${word}`]
  await run(...lines('yes'))
  await erase(owner, 'a@example.com')
  t.match((await run(...lines('no'))).report, { imported: 0 })
  t.same(await shown(), [])
  await said('a@example.com', 'unknown', '2025-01-01')
  t.same(await shown(), [['a@example.com', 'unsubscribed', 'unknown']])
  await said('a@example.com', 'subscribed', new Date().toISOString())
  t.same(await shown(), [['a@example.com', 'subscribed', 'unknown']])
})

t.test(
  'the same file takes no later yes back when the address has moved to another contact of theirs',
  async (t) => {
    const { owner, run, shown, said } = await store(t)
    const lines = ['customer_external_id,email,email_consent', '7,a@example.com,no']
    await run(...lines)
    await said('a@example.com', 'subscribed', new Date().toISOString())
    await sql`
    with other as (
      update contact set email = null where brand_id = ${owner.id} returning brand_id, subject
    )
    insert into contact (brand_id, id, subject, email)
    select brand_id, gen_random_uuid(), subject, 'b@example.com' from other`
    await sql`update contact set email = 'a@example.com' where brand_id = ${owner.id} and email = 'b@example.com'`
    await run(...lines)
    const holds = (await shown()).filter(([email]) => email === 'a@example.com')
    t.same(holds, [['a@example.com', 'unknown', 'unknown']])
  },
)

t.test(
  'consents of a brand that is newer than the statistics are written without reading all of it',
  async (t) => {
    const rows = 300
    const named = (n: number) => `${n},c${n}@example.com`
    const ids = Array.from({ length: rows }, (_, n) => n + 1)
    const [known, young] = [await store(t), await store(t)]
    await known.run('customer_external_id,email,email_consent', ...ids.map((n) => `${named(n)},no`))
    await analyze(sql)
    await young.run('customer_external_id,email', ...ids.map(named))
    const customers = await sql<{ subject: number; email: string }[]>`
    select subject, email from customer where brand_id = ${young.owner.id}`
    const words = customers.map(({ email }) => [
      { channel: 'email', state: 'unsubscribed', address: email, at: null },
    ])
    const subjects = Int32Array.from(customers.map(({ subject }) => subject))
    const read = await sql.begin((tx) =>
      rowsRead(tx, () =>
        importConsents(askOf(tx, young.owner.id), JSON.stringify(words), subjects, 'import x'),
      ),
    )
    t.ok(read < rows * 100, `${read} rows`)
  },
)
