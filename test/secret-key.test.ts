import { copyFileSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { serviceSeal } from '../src/access/service-seal.ts'
import { readConfig } from '../src/config.ts'
import { database } from './fixtures/database.ts'
import { freePort } from './fixtures/free-port.ts'
import { recoup } from './fixtures/recoup.ts'

const folder = mkdtempSync(join(tmpdir(), 'recoup-secret-key-'))
t.teardown(() => rmSync(folder, { recursive: true, force: true }))
const [before, after] = [await database(t), await database(t)]
const old = { DATABASE_URL: before.url, DATA_DIR: join(folder, 'old') }
const env = { DATABASE_URL: after.url, DATA_DIR: join(folder, 'new'), PORT: `${await freePort()}` }
const key = join(env.DATA_DIR, 'secret-key')
const backup = join(folder, 'backup')
const missing = `There is no ${key}, the key that the secrets of this database are sealed with. Copy DATA_DIR/secret-key`
const wrong = `${key} is not the key that the secrets of this database are sealed with. Copy DATA_DIR/secret-key`
const provider = ['provider', 'create', '--brand', 'one', '--name', 'Stamps']

/** Each fact goes on with the service of the one before it. */
t.test('the secret key', async (t) => {
  await t.test('is not in a backup, which says where it lies', async (t) => {
    await recoup(['brand', 'create', '--name', 'Shop', '--shop', 'one'], { env: old })
    t.match(await recoup(provider, { env: old }), { code: 0 })
    t.match(await recoup(['backup', backup], { env: old }), {
      code: 0,
      stdout: `keep ${join(old.DATA_DIR, 'secret-key')} apart, for whoever restores`,
    })
  })

  await t.test('is asked for by a restore without it, and no other one is made', async (t) => {
    const restored = await recoup(['restore', backup], { env })
    t.match(restored, { code: 1, stderr: '', stdout: missing })
    t.match(restored.stdout, /\nThen start recoup serve and recoup work\.\n$/, 'and says what to do with it')
    t.notOk(existsSync(key))
  })

  await t.test('is asked for by all that seals, and by no command that does not', async (t) => {
    for (const args of [['serve'], ['work'], ['dev'], provider])
      t.match(
        await recoup(args, { env }),
        { code: 1, stdout: '', stderr: `recoup: ${missing}` },
        args.join(' '),
      )
    t.notOk(existsSync(key))
    t.match(await recoup(['brand', 'list'], { env }), { code: 0 })
  })

  await t.test('is not another one', async (t) => {
    writeFileSync(key, `${'k'.repeat(43)}\n`)
    t.match(await recoup(['serve'], { env }), { code: 1, stderr: `recoup: ${wrong}` })
    t.match(await recoup(['serve'], { env: { ...env, SECRET_KEY: 's'.repeat(32) } }), {
      code: 1,
      stderr: /^recoup: SECRET_KEY is not the key/,
    })
  })

  await t.test('opens the service that it is given to', async (t) => {
    copyFileSync(join(old.DATA_DIR, 'secret-key'), key)
    t.match(await recoup(['provider', 'rotate-secret', '--brand', 'one', '--provider', 'stamps'], { env }), {
      code: 0,
    })
  })

  await t.test('of an empty service that ran is not that of the backup restored into it', async (t) => {
    const target = await database(t)
    const ran = { DATABASE_URL: target.url, DATA_DIR: join(folder, 'ran') }
    await serviceSeal({ postgres: target.postgres, config: readConfig(ran) })
    t.match(await recoup(['restore', backup], { env: ran }), {
      code: 1,
      stdout: /ran\/secret-key is not the key/,
    })
    const found = { ...ran, DATA_DIR: old.DATA_DIR }
    t.ok(await serviceSeal({ postgres: target.postgres, config: readConfig(found) }))
  })
})
