import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { monitorEventLoopDelay, performance } from 'node:perf_hooks'
import { createAuthenticator } from '../src/access/authenticate.ts'
import { createCursors } from '../src/access/cursor.ts'
import { createKey } from '../src/access/key.ts'
import { createSeal } from '../src/access/seal.ts'
import { table } from '../src/cli/table.ts'
import { createProvider } from '../src/connect/custom/providers.ts'
import { checkSchema, validatePayload } from '../src/event/payload-schema.ts'
import { restRoutes } from '../src/http/rest.ts'
import { createServer } from '../src/http/server.ts'
import { setLogLevel } from '../src/log.ts'
import type { Lake } from '../src/op.ts'
import { OPS } from '../src/ops/all.ts'
import { openPostgres } from '../src/store/postgres.ts'
import { hostileSchemas } from '../test/fixtures/payload-schemas.ts'
import { options } from './options.ts'
import { stage } from './stage.ts'

// How long each hostile payload schema holds up the event loop of a server: when it is sent, and when data that sets it
// off is held against it. The loop's longest delay, less that of an idle server; at most 25 ms are allowed. Each schema
// is sent several times with patterns that were never seen before, and the worst one counts.
const { values, positionals } = options({
  options: { rounds: { type: 'string', default: '5' }, json: { type: 'string' } },
  allowPositionals: true,
})

const ALLOWED_MS = 25
const SEAL = createSeal('a seal for benchmarks of 32 characters')

if (positionals[0] === 'serve') await serve(positionals[1] ?? '')
else await measureAll()

/** Answers requests; over IPC it starts to watch its loop, and says the longest delay since. */
async function serve(url: string): Promise<void> {
  setLogLevel('error')
  const postgres = openPostgres(url)
  const { authenticate } = createAuthenticator(postgres.pipeline)
  const lake = (): Lake => {
    throw new Error('nothing here reads the lake')
  }
  const deps = {
    authenticate,
    db: postgres.forBrand,
    lake,
    cursors: createCursors(Buffer.alloc(32)),
    seal: SEAL,
  }
  const server = createServer(restRoutes(OPS, { ...deps, webhookUrl: 'http://localhost' }))
  const delays = monitorEventLoopDelay({ resolution: 1 })
  delays.enable()
  process.on('message', ({ reset, round, index }: { reset?: boolean; round?: number; index?: number }) => {
    if (reset) delays.reset()
    const took = round === undefined || index === undefined ? 0 : checked(round, index)
    // A turn later, since a delay is noted when it is over.
    setTimeout(() => process.send?.({ delay: delays.max / 1e6, took }), 20)
  })
  process.send?.({ port: await server.listen('127.0.0.1', 0) })
}

/** Milliseconds that data takes against a schema that can be used. */
function checked(round: number, index: number): number {
  const { schema, data } = hostileSchemas(round)[index] as { schema: object; data: unknown }
  try {
    checkSchema(schema as Record<string, unknown>)
  } catch {
    return 0
  }
  const from = performance.now()
  validatePayload(schema, data)
  return performance.now() - from
}

async function measureAll(): Promise<void> {
  const { app, brand, end } = await stage()
  const child = fork(import.meta.filename, ['serve', app.postgres.url], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  try {
    const [{ port }] = await once(child, 'message')
    const db = app.postgres.forBrand(brand.id)
    const { plaintext } = await createKey(db, { scopes: ['providers:write'] })
    const making = { seal: SEAL, webhookUrl: 'http://localhost', withKey: false }
    const { id } = await createProvider(db, { name: 'Hostile' }, making)
    const url = `http://127.0.0.1:${port}/v1/providers/${id}/event-definitions`
    report(await measured(child, { url, key: plaintext }))
  } finally {
    child.disconnect()
    child.kill()
    await once(child, 'exit')
    await end()
  }
}

interface Row {
  name: string
  answer: string
  sendMs: number
  dataMs: number
}

async function measured(child: ChildProcess, to: { url: string; key: string }) {
  const ask = async (message: object): Promise<{ delay: number; took: number }> => {
    child.send(message)
    return (await once(child, 'message'))[0]
  }
  await ask({ reset: true })
  await new Promise((resolve) => setTimeout(resolve, 2_000))
  const { delay: idle } = await ask({})
  const rows = new Map<string, Row>()
  for (let round = 1; round <= Number(values.rounds); round++) {
    for (const [index, { name, schema }] of hostileSchemas(round).entries()) {
      await ask({ reset: true })
      const status = await send(to, { round, name, schema })
      const { delay } = await ask({})
      const { took } = await ask({ round, index })
      const row = rows.get(name) ?? { name, answer: '', sendMs: 0, dataMs: 0 }
      const sendMs = Math.max(row.sendMs, delay - idle)
      rows.set(name, { name, answer: String(status), sendMs, dataMs: Math.max(row.dataMs, took) })
    }
  }
  return { idle, rows: [...rows.values()] }
}

async function send(
  { url, key }: { url: string; key: string },
  { round, name, schema }: { round: number; name: string; schema: object },
): Promise<number> {
  const identifier_mappings = { external_id_path: 'id', email_path: 'email' }
  const type = `t${round}_${name.replace(/\W/g, '_')}`.slice(0, 64)
  const answer = await fetch(url, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ type, name, payload_schema: schema, identifier_mappings }),
  })
  await answer.arrayBuffer()
  return answer.status
}

function report({ idle, rows }: { idle: number; rows: Row[] }): void {
  const ms = (value: number) => value.toFixed(1)
  const head = ['schema', 'status', 'sent: ms over idle', 'data: ms']
  console.log(
    table(
      head,
      rows.map((row) => [row.name, row.answer, ms(row.sendMs), ms(row.dataMs)]),
    ),
  )
  const worst = Math.max(...rows.flatMap((row) => [row.sendMs, row.dataMs]))
  console.log(`\nidle ${ms(idle)} ms, worst ${ms(worst)} ms over it, allowed ${ALLOWED_MS} ms`)
  if (values.json) writeFileSync(values.json, `${JSON.stringify({ idle, worst, rows }, null, 2)}\n`)
  if (worst > ALLOWED_MS) process.exitCode = 1
}
