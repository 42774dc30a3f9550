import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import postgres from 'postgres'
import t, { type Test } from 'tap'
import { main } from '../src/cli/main.ts'
import { ownerUrl, readHome } from '../src/store/embedded/home.ts'
import { findPostmaster } from '../src/store/embedded/postmaster.ts'
import { emptyFolder } from './fixtures/cluster.ts'
import { eventually } from './fixtures/eventually.ts'
import { freePort } from './fixtures/free-port.ts'
import { recoup, type Started, startRecoup } from './fixtures/recoup.ts'

const dataDir = await emptyFolder(t)
const port = await freePort()
const origin = `http://127.0.0.1:${port}`
const env = { DATA_DIR: dataDir, PORT: String(port) }
const cluster = join(dataDir, 'postgres')
let key = ''

/** Each fact goes on with the data of the one before it, as an operator's runs do. */
t.test('recoup dev', async (t) => {
  await t.test('killed while it makes the demo brand', async (t) => {
    const { child } = dev(t)
    await eventually(
      async () => Number((await query('select count(*) as rows from store_order'))?.rows) > 0,
      { withinMs: 90_000 },
    )
    killAll(treeOf(child.pid as number))
    await once(child, 'exit')
    t.ok(findPostmaster(cluster), 'Postgres is left running')
    t.same(await query('select count(*) as rows from api_key'), { rows: '0' }, 'it was not done')
  })

  await t.test('goes on with it, is ready, and prints a credential that works', async (t) => {
    const run = dev(t)
    key = (await isUp(t, run)).key
    t.same(await get('/healthz'), { status: 200, body: { ok: true } })
    t.match(await get('/v1/brand'), {
      status: 200,
      body: { name: 'Demo store', shop_domain: 'demo.myshopify.com' },
    })
    const { body } = await get('/v1/segments')
    const own = body.data.filter((each) => each.created_by !== 'built_in')
    t.equal(own.length, 3)
    for (const { name, audience } of own) {
      t.match(audience.evaluation_status, /^evaluat(ed|ing)$/, 'the worker may evaluate it anew')
      t.ok(audience.member_count > 0, `"${name}" has members`)
    }
    t.same(
      await query(`select count(*) as customers, count(distinct brand_id) as brands, (select count(*) from api_key) as keys
        from customer where store_customer_id is not null`),
      { customers: '1000', brands: '1', keys: '1' },
    )

    await t.test('beside commands', async (t) => {
      const [status, second] = await Promise.all([
        recoup(['status', '--json'], { env }),
        recoup(['dev'], { env }),
      ])
      t.match(status, { code: 0, stderr: '' })
      t.match(JSON.parse(status.stdout), { brands: [{ shop_domain: 'demo.myshopify.com', failures: 0 }] })
      t.match(second, { code: 1, stdout: '', stderr: /cannot listen on 127\.0\.0\.1 port \d+: it is in use/ })
    })

    await t.test('until everything is killed, Postgres too', async (t) => {
      const events = [{ eventType: 'kept', email: 'ann@example.com', eventId: 'kept', properties: {} }]
      t.match(await post('/cdp/events', { events }), { accepted: 1 })
      const postmaster = findPostmaster(cluster)?.pid as number
      killAll([...treeOf(run.child.pid as number), postmaster])
      await once(run.child, 'exit')
      await t.rejects(fetch(`${origin}/healthz`))
    })
  })

  await t.test('is up again and has lost nothing', async (t) => {
    const run = dev(t)
    t.equal((await isUp(t, run)).key, key, 'the same credential')
    t.equal((await command('refresh', '--brand', 'demo')).code, 0)
    const events = await command('sql', '--json', "select event_id from events where event_type = 'kept'")
    t.same(JSON.parse(events.out), [{ event_id: 'kept' }])
    t.equal((await get('/v1/segments')).body.data.length, 10)

    await t.test('a killed server is started again', async (t) => {
      const server = processOf(run.child.pid as number, 'serve')
      const worker = processOf(run.child.pid as number, 'work')
      killAll([server])
      const next = await eventually(
        async () => (await get('/readyz')).status === 200 && processOf(run.child.pid as number, 'serve'),
      )
      t.not(next, server)
      t.equal(processOf(run.child.pid as number, 'work'), worker, 'the worker ran on')
      t.match(run.output.stderr, /"event":"process_died","process":"serve","code":null,"signal":"SIGKILL"/)
    })

    await t.test('a killed Postgres is started again, and takes events as before', async (t) => {
      const killed = findPostmaster(cluster)?.pid as number
      killAll([killed])
      const events = [{ eventType: 'kept', email: 'ann@example.com', eventId: 'kept-2', properties: {} }]
      await eventually(async () => (findPostmaster(cluster)?.pid ?? killed) !== killed)
      await eventually(async () => (await get('/readyz')).status === 200)
      // Each kind of connection is made again by itself: until then the answer is 503, and the client tries again.
      const answer = async () => (await post('/cdp/events', { events })) as { accepted?: number }
      t.equal(await eventually(async () => (await answer()).accepted), 1)
    })

    await t.test('a killed supervisor takes server, worker and Postgres with it', async (t) => {
      killAll([run.child.pid as number])
      await run.ended
      await eventually(async () => findPostmaster(cluster) === null)
      await t.rejects(fetch(`${origin}/healthz`))
    })
  })

  await t.test('stops at SIGINT with exit code 0, and Postgres with it', async (t) => {
    const run = dev(t)
    await isUp(t, run)
    run.child.kill('SIGINT')
    const { code, stdout } = await run.ended
    t.equal(code, 0)
    t.match(stdout, /Stopped; everything is kept\.\n$/)
    t.notOk(existsSync(join(cluster, 'postmaster.pid')))
    await t.rejects(fetch(`${origin}/healthz`))
  })
})

/** A command in this process, beside the run. */
async function command(...args: string[]): Promise<{ code: number; out: string }> {
  let out = ''
  const write = (text: string) => {
    out += text
  }
  const code = await main(args, { env, out: write, err: write })
  return { code, out }
}

function dev(t: Test): Started {
  const run = startRecoup(['dev'], { env })
  t.teardown(async () => {
    if (run.child.exitCode !== null || run.child.signalCode !== null) return
    killAll(treeOf(run.child.pid as number))
    await run.ended
  })
  return run
}

/** Waits until a run says that server and worker are up; the key that it printed. */
async function isUp(t: Test, { output, child }: Started): Promise<{ key: string }> {
  const started = performance.now()
  await eventually(
    async () => {
      if (child.exitCode !== null) throw new Error(output.stderr)
      return output.stdout.includes(`Recoup is at ${origin}`)
    },
    { withinMs: 90_000 },
  )
  t.comment(`ready after ${((performance.now() - started) / 1000).toFixed(1)} s`)
  t.equal((await get('/readyz')).status, 200)
  return { key: /API key: (svc_\w+)/.exec(output.stdout)?.[1] ?? '' }
}

const headers = () => ({ authorization: `Bearer ${key}`, 'content-type': 'application/json' })

interface Answer {
  status: number
  body: {
    data: {
      name: string
      created_by: string
      audience: { evaluation_status: string; member_count: number }
    }[]
  }
}

async function get(path: string): Promise<Answer> {
  const response = await fetch(origin + path, { headers: headers() })
  return { status: response.status, body: (await response.json()) as Answer['body'] }
}

async function post(path: string, body: object): Promise<unknown> {
  const sent = { method: 'POST', headers: headers(), body: JSON.stringify(body) }
  return await (await fetch(origin + path, sent)).json()
}

/** One row of the embedded Postgres; null while it does not answer. */
async function query(text: string): Promise<Record<string, unknown> | null> {
  const home = readHome(dataDir)
  if (!home?.port) return null
  const sql = postgres(ownerUrl(home), { max: 1, onnotice: () => {} })
  try {
    return { ...(await sql.unsafe(text))[0] }
  } finally {
    await sql.end({ timeout: 1 })
  }
}

/** A process and all that it started, the starter first, so that it cannot start others meanwhile. */
function treeOf(pid: number): number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim()
  return [pid, ...(children ? children.split(' ').flatMap((child) => treeOf(Number(child))) : [])]
}

/** That of a command, whatever its options; throws where there is none: 0 would be all processes of the test's group. */
function processOf(pid: number, command: string): number {
  const found = treeOf(pid).find((one) =>
    readFileSync(`/proc/${one}/cmdline`, 'utf8').includes(`cli.ts\0${command}\0`),
  )
  if (!found) throw new Error(`${command} does not run`)
  return found
}

function killAll(pids: readonly number[]): void {
  for (const pid of pids) process.kill(pid, 'SIGKILL')
}
