import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { cpus } from 'node:os'
import autocannon from 'autocannon'
import { createAuthenticator } from '../src/access/authenticate.ts'
import { createCursors } from '../src/access/cursor.ts'
import { openInvalidation } from '../src/access/invalidation.ts'
import { createKey } from '../src/access/key.ts'
import { createLimits } from '../src/access/limits.ts'
import { table } from '../src/cli/table.ts'
import { restRoutes } from '../src/http/rest.ts'
import { createServer } from '../src/http/server.ts'
import { setLogLevel } from '../src/log.ts'
import type { Lake } from '../src/op.ts'
import { OPS } from '../src/ops/all.ts'
import { createSegment } from '../src/segment/saved.ts'
import { openPostgres } from '../src/store/postgres.ts'
import { options } from './options.ts'
import { stage } from './stage.ts'

// Authenticated reads: one answered from memory, one that reads a row through row-level security. `limited`: with the
// rate limits counting, many keys taking turns so that none is over them.
const { values, positionals } = options({
  options: {
    seconds: { type: 'string', default: '5' },
    connections: { type: 'string', default: '64' },
    json: { type: 'string' },
  },
  allowPositionals: true,
})

const KEYS = 1_000

if (positionals[0] === 'serve') await serve(positionals[1] ?? '', positionals[2] === 'limited')
else await measureAll()

async function serve(url: string, isLimited: boolean): Promise<void> {
  setLogLevel('warn')
  const postgres = openPostgres(url)
  const invalidation = await openInvalidation(postgres)
  const authenticator = createAuthenticator(postgres.pipeline, Date.now, invalidation.lease)
  invalidation.onChange(authenticator.forget)
  const limits = createLimits(postgres.pipeline)
  const server = createServer(
    restRoutes(OPS, {
      authenticate: authenticator.authenticate,
      db: postgres.forBrand,
      lake: () => ({}) as Lake,
      cursors: createCursors(Buffer.alloc(32)),
      limit: isLimited ? (op, { caller }) => limits.call(op, caller.id) : undefined,
    }),
  )
  const port = await server.listen('127.0.0.1', 0)
  process.on('message', async () => {
    await server.drain(1_000)
    await authenticator.settled()
    await limits.close()
    await invalidation.close()
    await postgres.close()
    process.disconnect?.()
  })
  process.send?.({ port })
}

async function measureAll(): Promise<void> {
  const { app, brand, end } = await stage()
  try {
    const db = app.postgres.forBrand(brand.id)
    const keys: string[] = []
    for (let at = 0; at < KEYS; at++)
      keys.push((await createKey(db, { scopes: ['brand:read', 'segments:read'] })).plaintext)
    const { id } = await createSegment(db, {
      name: 'Bench',
      definition: { source: 'customer_profile', rule: { field: 'orders_count', op: '>', value: 1 } },
      createdBy: 'cli',
    })
    const measured = []
    for (const [mode, paths] of [
      ['unlimited', ['/v1/brand', `/v1/segments/${id}/audience`]],
      ['limited', ['/v1/brand']],
    ] as const) {
      const server = fork(import.meta.filename, ['serve', app.postgres.url, mode])
      const [{ port }] = (await once(server, 'message')) as [{ port: number }]
      for (const path of paths) measured.push(await measure(`http://127.0.0.1:${port}`, path, mode, keys))
      await stop(server)
    }
    const header = ['route', 'rate limits', 'requests/s', 'p50 ms', 'p99 ms', 'not 2xx']
    process.stdout.write(
      `autocannon 9 on the same ${cpus().length} cores, ${values.connections} keep-alive connections, ${KEYS} keys\n`,
    )
    process.stdout.write(
      `${table(
        header,
        measured.map((row) => Object.values(row)),
      )}\n`,
    )
    if (values.json) writeFileSync(values.json, `${JSON.stringify(measured, null, 2)}\n`)
    if (measured.some((row) => row.not_2xx > 0)) process.exitCode = 1
  } finally {
    await end()
  }
}

async function measure(url: string, path: string, mode: string, keys: readonly string[]) {
  const run = (duration: number) =>
    autocannon({
      url,
      connections: Number(values.connections),
      duration,
      requests: keys.map((key) => ({ path, headers: { authorization: `Bearer ${key}` } })),
    })
  await run(2)
  const result = await run(Number(values.seconds))
  return {
    route: `GET ${path.replace(/[0-9a-f-]{36}/, '{id}')}`,
    limits: mode === 'limited' ? 'on' : 'off',
    requests_per_second: Math.round(result['2xx'] / result.duration),
    p50_ms: result.latency.p50,
    p99_ms: result.latency.p99,
    not_2xx: result.non2xx + result.errors + result.timeouts,
  }
}

async function stop(server: ChildProcess): Promise<void> {
  server.send('stop')
  await once(server, 'exit')
}
