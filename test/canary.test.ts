import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'
import t from 'tap'
import { brand as newBrand } from './fixtures/brand.ts'
import { emptyFolder } from './fixtures/cluster.ts'
import { database } from './fixtures/database.ts'
import { eventually } from './fixtures/eventually.ts'
import { recoup, startRecoup } from './fixtures/recoup.ts'

const EMAIL = 'canary.person@example.com'
const PHONE = '+4915112345678'
const NAME = 'Canaryname'
const PASSWORD = 'canary-password-1234'
const PERSONAL = [EMAIL, PHONE, NAME, 'canary.person']

t.test(
  'secrets and personal data of a whole run are in no log, no error and no event of the lake',
  async (t) => {
    const opened = await database(t)
    const brand = await newBrand(opened, { features: ['cdp'] })
    const dataDir = await emptyFolder(t)
    const env = {
      DATABASE_URL: opened.url,
      DATA_DIR: dataDir,
      PORT: '0',
      LOG_LEVEL: 'debug',
      REFRESH_CRON: '* * * * *',
    }

    const key = JSON.parse(
      (
        await recoup(
          ['key', 'create', '--brand', brand.id, '--scopes', 'segments:read,brand:read', '--json'],
          { env },
        )
      ).stdout,
    ).plaintext as string
    await recoup(
      ['user', 'create', '--brand', brand.id, '--email', EMAIL, '--role', 'admin', '--password-stdin'],
      { env, stdin: PASSWORD },
    )
    const token =
      (
        await recoup(['token', '--user', EMAIL, '--scopes', 'segments:write,keys:manage', '--json'], { env })
      ).stdout.match(/eyJ[\w.-]+/)?.[0] ?? ''
    t.ok(key && token, 'a key and a token')

    const serve = startRecoup(['serve'], { env })
    const work = startRecoup(['work'], { env })
    t.teardown(() => [serve, work].map(({ child }) => child.kill('SIGKILL')))
    const port = await eventually(
      async () => serve.output.stderr.match(/"event":"listening".*?"port":(\d+)/)?.[1],
    )
    const answers: string[] = []
    const send = async (path: string, credential: string, body?: object) => {
      const headers = { authorization: `Bearer ${credential}`, 'content-type': 'application/json' }
      const init = body ? { method: 'POST', headers, body: JSON.stringify(body) } : { headers }
      const response = await fetch(`http://127.0.0.1:${port}${path}`, init)
      const text = await response.text()
      if (response.status >= 400) answers.push(text)
      return { status: response.status, text }
    }

    const event = {
      eventType: 'updateProperties',
      email: EMAIL,
      phone: PHONE,
      properties: { email: EMAIL, phone: PHONE, firstName: NAME, plan: 'gold' },
    }
    t.equal((await send('/cdp/events', key, { events: [event] })).status, 200)
    await send('/cdp/events', key, {
      events: [
        { ...event, email: `${EMAIL}\u0000` },
        { ...event, scope: EMAIL },
      ],
    })
    await send(`/v1/segments?email=${EMAIL}`, key)
    await send(`/v1/segments/${EMAIL}`, key)
    await send('/v1/brand', `${key}x`)
    await send('/v1/brand', `${token}x`)
    await send('/v1/segments', token, {
      name: NAME,
      definition: { source: 'customer_profile', rule: { field: 'email', op: '>', value: EMAIL } },
    })
    const made = await send('/v1/keys', token, { scopes: ['segments:read'] })
    const second = JSON.parse(made.text).plaintext as string
    await fetch(`http://127.0.0.1:${port}/sign-in`, {
      method: 'POST',
      body: new URLSearchParams({ email: EMAIL, password: `${PASSWORD}x` }),
    })

    const refreshed = await recoup(['refresh', '--brand', brand.id], { env })
    for (const { child, ended } of [serve, work]) {
      child.kill('SIGTERM')
      await ended
    }

    const secrets = [key, token, second, PASSWORD, key.slice(12), token.split('.')[2] ?? token]
    const logs = [serve.output, work.output, refreshed]
      .map(({ stdout, stderr }) => stdout + stderr)
      .join('\n')
    t.ok(logs.length > 1_000, 'there are logs to search')
    t.same(
      [...PERSONAL, ...secrets].filter((canary) => logs.includes(canary)),
      [],
      'logs',
    )
    t.same(
      secrets.filter((canary) => answers.join('\n').includes(canary)),
      [],
      'errors hold no secret',
    )

    const files = readdirSync(join(dataDir, 'lake'), { recursive: true, encoding: 'utf8' }).filter((name) =>
      name.endsWith('.parquet'),
    )
    const connection = await (await DuckDBInstance.create(':memory:')).connect()
    const found: string[] = []
    let events = 0
    for (const file of files) {
      const rows = JSON.stringify(
        (
          await connection.runAndReadAll(`from read_parquet('${join(dataDir, 'lake', file)}')`)
        ).getRowObjectsJson(),
      )
      if (file.includes('events-') && rows.includes('gold')) events++
      const canaries = file.includes('/customers-') ? secrets : [...PERSONAL, ...secrets]
      found.push(
        ...canaries.filter((canary) => rows.includes(canary)).map((canary) => `${canary} in ${file}`),
      )
    }
    connection.closeSync()
    t.ok(events > 0, 'the event is in the lake, with what identifies nobody')
    t.same(found, [], 'the lake')
    const sealed = readFileSync(join(dataDir, 'secret-key'), 'utf8').trim()
    t.notOk(logs.includes(sealed), 'the key that seals secrets')
  },
)
