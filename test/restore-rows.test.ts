import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { setConsent, upsertContact } from '../src/identity/contact.ts'
import { assignSubjects } from '../src/identity/subject.ts'
import { backup } from '../src/lake/backup.ts'
import { restore } from '../src/lake/restore.ts'
import type { Sql } from '../src/store/postgres.ts'
import { brand as newBrand } from './fixtures/brand.ts'
import { database } from './fixtures/database.ts'
import { lake, tick } from './fixtures/lake.ts'

/** What a restore begins anew with: where the lake is, and who runs. */
const ANEW = ['lake_state', 'attribution_state']
const db = await database(t)
const pipeline = await lake(t, db)
const brand = await newBrand(db)

/** Somebody said no without a channel of their own, and yes later at an address that is known to be theirs since. */
const own = db.postgres.forBrand(brand.id)
const none = { email: null, phone: null, firstName: null, lastName: null }
const contactOf = async (found: { email?: string; subject: number | null }) => {
  const made = await own.tx((tx) => upsertContact(tx, { ...none, ...found }))
  if ('conflict' in made) throw new Error(made.conflict)
  return made.contactId
}
const yes = await contactOf({ email: 'ann@example.com', subject: null })
const [subject = null] = await own.tx((tx) =>
  assignSubjects(tx, brand.id, [{ storeCustomerId: '7', seenAt: new Date() }], {
    storePlatformDomain: 'myshopify.com',
  }),
)
const no = await contactOf({ email: 'former@example.com', subject })
await db.postgres.sql`update contact set email = null where id = ${no}`
await own.tx(async (tx) => {
  await setConsent(tx, no, 'email', 'unsubscribed', 'test', new Date('2026-11-01T00:00:00Z'))
  await setConsent(tx, yes, 'email', 'subscribed', 'test', new Date('2026-11-02T00:00:00Z'))
  await tx.run('contact_link', [yes, subject])
  await tx.run('consent_apply', [[no, yes]])
})
await tick(pipeline)

const consentsIn = (sql: Sql) => sql`select email, email_consent from contact order by email`
const triggersIn = (sql: Sql) => sql`
  select tgrelid::regclass::text as name, tgname, tgenabled from pg_trigger where not tgisinternal order by 1, 2`

const folder = mkdtempSync(join(tmpdir(), 'recoup-backup-'))
t.teardown(() => rmSync(folder, { recursive: true, force: true }))
const { tables } = await backup(pipeline, folder)
const target = await database(t)
const restored = await restore(target.url, (await lake(t, target)).lakeDir, folder)
const [before, after] = [db.postgres.sql, target.postgres.sql]

t.test('a restore leaves every table as it was, but for the ids of transactions', async (t) => {
  t.same(restored.tables, tables)
  const hashesIn = async (sql: Sql) => {
    const names = tables.map(({ name }) => name).filter((name) => !ANEW.includes(name))
    const each = names.map(
      (name) => `select '${name}' as name, count(*)::integer as rows,
        md5(string_agg((to_jsonb(r) - 'xid')::text, ',' order by (to_jsonb(r) - 'xid')::text)) as md5 from ${name} as r`,
    )
    return await sql.unsafe(each.join(' union all '))
  }
  t.same(await hashesIn(after), await hashesIn(before))
})

t.test('so who said yes after a no has said yes', async (t) => {
  const said = [
    { email: 'ann@example.com', email_consent: 'subscribed' },
    { email: null, email_consent: 'unsubscribed' },
  ]
  t.same(await consentsIn(before), said)
  t.same(await consentsIn(after), said)
})

t.test('afterwards triggers are on', async (t) => {
  t.same(await triggersIn(after), await triggersIn(before))
})
