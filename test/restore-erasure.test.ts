import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import type { App } from '../src/app.ts'
import { backupCommands } from '../src/cli/backup.ts'
import type { Values } from '../src/cli/command.ts'
import { customerCommands } from '../src/cli/customer.ts'
import { readConfig } from '../src/config.ts'
import type { Certificate } from '../src/connect/erase/certificate.ts'
import { backup } from '../src/lake/backup.ts'
import type { Pipeline } from '../src/lake/pipeline.ts'
import { setLogLevel } from '../src/log.ts'
import { brand as newBrand } from './fixtures/brand.ts'
import { runCommand } from './fixtures/command.ts'
import { database } from './fixtures/database.ts'
import { lake, logBatch, tick } from './fixtures/lake.ts'

setLogLevel('error')
const EMAIL = 'ann@example.com'
const config = readConfig({ SECRET_KEY: 's'.repeat(32) })

function run<Result>(
  pipeline: Pipeline,
  name: string,
  positionals: string[],
  values: Values = {},
): Promise<Result> {
  const app = { config, postgres: pipeline.postgres, pipeline } as App
  return runCommand(app, [...backupCommands, ...customerCommands], name, values, positionals)
}

const folder = mkdtempSync(join(tmpdir(), 'recoup-backup-'))
t.teardown(() => rmSync(folder, { recursive: true, force: true }))
const before = await lake(t)
const brand = await newBrand(before)
await logBatch(before.postgres.sql, [{ brand_id: brand.id, email: EMAIL }])
await tick(before)
const { made_at } = await backup(before, folder)
// Nor does any other one need the files: erasures remove them at once.
await before.postgres.sql`update lake_state set removal_paused_until = null`
const certificate = await run<Certificate>(before, 'customer erase', [EMAIL], { brand: brand.id, yes: true })
const after = await lake(t, await database(t))
const restored = await run<object>(after, 'restore', [folder])

const known = async () =>
  (await after.postgres.sql`select from identifier where brand_id = ${brand.id} and value = ${EMAIL}`)
    .length > 0

t.test('a restore says that who was erased since the backup is back, and what to do', async (t) => {
  const again = 'recoup customer erase --brand BRAND_ID CUSTOMER_ID'
  t.hasStrict(restored, { erase_again: { completed_after: made_at, command: again } })
  const said = backupCommands.find(({ name }) => name === 'restore')?.text?.(restored as never)
  t.match(said, /^Who was erased since then is back, and can be messaged\./m)
  t.match(said, `completed_at after ${made_at}`)
  t.match(said, again)
})

t.test('by its certificate a customer who is back is erased again', async (t) => {
  t.ok(await known(), 'is back')
  t.ok(certificate.completed_at > made_at, 'the certificate is one of those')
  for (const id of certificate.customer_ids)
    await run(after, 'customer erase', [id], { brand: certificate.brand_id, yes: true })
  t.notOk(await known())
})
