import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { createKey } from '../src/access/key.ts'
import { importFile } from '../src/connect/import/import.ts'
import type { ImportKind } from '../src/connect/import/targets.ts'
import { snapshotAll } from '../src/lake/horizon.ts'
import { refreshBrand } from '../src/segment/refresh.ts'
import { brand as makeBrand } from './fixtures/brand.ts'
import { database } from './fixtures/database.ts'
import { hooks } from './fixtures/webhook.ts'

/** A file may begin with this mark, which is none of its text; of a text it is the first character. */
const MARKED = '\ufeffNina'

t.capture(process.stderr, 'write')
const URL = 'https://shop.example.com/'

const db = await database(t)
const { app, port, send, source } = await hooks(t, db)
const brand = await makeBrand(db, { features: ['cdp'] })
const { plaintext } = await createKey(db.postgres.forBrand(brand.id), {
  scopes: ['customers:read'],
  keyClass: 'cdp',
})
const ask = async (path: string, body?: object) => {
  const answer = await fetch(`http://127.0.0.1:${port}${path}`, {
    method: body ? 'POST' : 'GET',
    headers: { authorization: `Bearer ${plaintext}`, 'content-type': 'application/json' },
    ...(body && { body: JSON.stringify(body) }),
  })
  const text = await answer.text()
  if (answer.status !== 200) throw new Error(text)
  return text
}
const folder = mkdtempSync(join(tmpdir(), 'recoup-marks-'))
t.teardown(() => rmSync(folder, { recursive: true, force: true }))
const imported = async (kind: ImportKind, name: string, text: string) => {
  const file = join(folder, name)
  writeFileSync(file, text)
  await importFile({ pipeline: app.pipeline, brand, kind, file })
}
/** What is told of somebody: themselves, what they did, and their visits. */
const told = async (email: string) => {
  const found = JSON.parse(await ask(`/v1/customers/search?query=${email}`)) as { data: { id: string }[] }
  const id = found.data[0]?.id
  const paths = [
    `/v1/customers/${id}`,
    `/cdp/profiles/${id}`,
    `/v1/customers/${id}/activity`,
    `/cdp/profiles/${id}/sessions`,
  ]
  return await Promise.all(paths.map((path) => ask(path)))
}
const happened = { event_type: 'unit_registered', occurred_at: '2026-11-02T00:00:00Z' }

await ask('/cdp/events', {
  events: ['updateProperties', 'page_viewed'].map((eventType) => ({
    ...{
      eventType,
      email: 'event@example.com',
      properties: { called: MARKED, url: URL, utm_source: MARKED },
    },
  })),
})
await send(await source(brand), {
  data: JSON.stringify({ id: 'a1', email: 'hook@example.com', points: 4, called: MARKED }),
})
await imported('customers', 'customers.csv', `external_id,email,first_name\n1,row@example.com,"${MARKED}"\n`)
await imported(
  'events',
  'events.ndjson',
  JSON.stringify({ ...happened, email: 'line@example.com', properties: { called: MARKED } }),
)
await snapshotAll(app.pipeline)
await refreshBrand(app.pipeline, brand.id)

for (const [what, who, parts] of [
  ['an event', 'event', [true, true, true, true]],
  ['an import of customers', 'row', [true, true, false, false]],
  ['an import of events', 'line', [false, false, true, false]],
  ['a webhook', 'hook', [false, false, true, false]],
] as const)
  t.test(`a text of ${what} that begins with a byte order mark keeps it in every answer`, async (t) => {
    const answers = await told(`${who}@example.com`)
    t.same(
      answers.map((text) => text.includes(`"${MARKED}"`)),
      parts,
    )
  })
