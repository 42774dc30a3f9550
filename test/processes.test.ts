import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { Agent, get, type IncomingMessage } from 'node:http'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { PgBoss } from 'pg-boss'
import postgres from 'postgres'
import t, { type Test } from 'tap'
import { CHECKOUT } from '../src/config.ts'
import { supervise } from '../src/supervise.ts'
import { childrenOf } from './fixtures/children.ts'
import { emptyFolder } from './fixtures/cluster.ts'
import { database } from './fixtures/database.ts'
import { eventually } from './fixtures/eventually.ts'
import { freePort } from './fixtures/free-port.ts'
import { recoup, type Started, startRecoup } from './fixtures/recoup.ts'

/** Several servers on one port, from their start to their end under one command. */
const { url } = await database(t)
const port = await freePort()
const env = { DATABASE_URL: url, DATA_DIR: await emptyFolder(t), PORT: `${port}` }

t.test('recoup serve --processes', async (t) => {
  const run = startRecoup(['serve', '--processes', '2'], { env })
  const supervisor = run.child.pid as number
  t.teardown(async () => {
    run.child.kill('SIGKILL')
    await run.ended
  })
  await eventually(async () => listening(run.output.stderr) === 2, { withinMs: 90_000 })
  const before = childrenOf(supervisor)

  await t.test('needs the port for itself, and a port of its own', async (t) => {
    t.match(await recoup(['serve'], { env }), {
      code: 1,
      stderr: /is in use by another program\. Set PORT to another one, such as PORT=\d+\n/,
    })
    const free = await recoup(['serve', '--processes', '2'], { env: { ...env, PORT: '0' } })
    t.match(free, { code: 1, stderr: /--processes needs a PORT of its own/ })
  })

  await t.test('divides connections between its servers', async (t) => {
    const sockets = await Promise.all(Array.from({ length: 60 }, connected))
    await eventually(async () => sum(before.map(clientsOf)) === 60)
    for (const pid of before) {
      const taken = clientsOf(pid)
      t.ok(taken >= 10, `${taken} of 60`)
    }
    for (const socket of sockets) socket.destroy()
  })

  await t.test('starts a server again that was killed, and answers meanwhile', async (t) => {
    const [killed = 0, other = 0] = before
    process.kill(killed, 'SIGKILL')
    await eventually(async () => !childrenOf(supervisor).includes(killed))
    const answers: unknown[] = []
    const after = await eventually(async () => {
      answers.push(await answer().catch((error: Error) => error.message))
      const now = childrenOf(supervisor)
      return now.length === 2 && now
    })
    t.ok(after.includes(other), 'the other one ran on')
    t.same(new Set(answers), new Set([200]))
    await eventually(async () => listening(run.output.stderr) === 3)
  })

  await t.test('replaces its servers at SIGHUP without a request that fails', async (t) => {
    const old = childrenOf(supervisor)
    const failures: string[] = []
    let running = true
    let answered = 0
    const client = async (agent: Agent | false) => {
      while (running)
        await answer(agent).then(
          (status) => (status === 200 ? answered++ : failures.push(String(status))),
          (error: NodeJS.ErrnoException) => failures.push(error.code ?? error.message),
        )
    }
    const keep = new Agent({ keepAlive: true })
    const clients = Promise.all(
      [keep, keep, keep, keep, false, false].map((one) => client(one as Agent | false)),
    )
    run.child.kill('SIGHUP')
    await eventually(async () => run.output.stderr.includes('"processes_replaced"'), { withinMs: 90_000 })
    running = false
    await clients
    keep.destroy()
    t.same(failures, [])
    t.ok(answered > 0)
    t.same(
      childrenOf(supervisor).filter((pid) => old.includes(pid)),
      [],
    )
  })

  await t.test('stops all of them at SIGTERM, with exit code 0', async (t) => {
    const servers = childrenOf(supervisor)
    run.child.kill('SIGTERM')
    t.match(await run.ended, { code: 0 })
    for (const pid of servers) t.throws(() => process.kill(pid, 0))
  })
})

t.test(
  'two commands that begin in the same moment: one has the port, the other says that it is in use',
  async (t) => {
    const [one, other] = [0, 1].map(() => startRecoup(['serve', '--processes', '2'], { env }))
    const runs = [one, other] as Started[]
    t.teardown(async () => {
      for (const { child } of runs) child.kill('SIGKILL')
      await Promise.all(runs.map(({ ended }) => ended))
    })
    const refused = await Promise.race(runs.map(({ ended }) => ended))
    t.match(refused, { code: 1, stderr: /is in use by another program/ })
    const running = runs.find(({ child }) => child.exitCode === null) as Started
    await eventually(async () => listening(running.output.stderr) === 2)
    running.child.kill('SIGTERM')
    t.match(await running.ended, { code: 0 })
  },
)

t.test(
  'recoup dev with one server replaces it, too, also where SIGHUP goes to all of its group',
  async (t) => {
    const run = startRecoup(['dev', '--no-demo'], { env, detached: true })
    const dev = run.child.pid as number
    t.teardown(async () => {
      run.child.kill('SIGKILL')
      await run.ended
    })
    await eventually(async () => run.output.stdout.includes('Recoup is at'), { withinMs: 90_000 })
    for (const [n, to] of [dev, -dev].entries()) {
      const old = childrenOf(dev)
      process.kill(to, 'SIGHUP')
      await eventually(async () => run.output.stderr.split('"processes_replaced"').length === n + 2, {
        withinMs: 90_000,
      })
      t.notMatch(run.output.stderr, /process_not_replaced|process_died/)
      const now = childrenOf(dev)
      t.same([now.length, now.filter((pid) => old.includes(pid))], [2, []])
      t.equal(await answer(), 200)
    }
    run.child.kill('SIGTERM')
    t.match(await run.ended, { code: 0 })
  },
)

t.test('recoup dev ends with its terminal', async (t) => {
  const output = join(t.testdir(), 'output')
  const command = `exec bin/recoup dev --no-demo >${output} 2>&1`
  const terminal = spawn('script', ['--quiet', '--return', '--command', command, '/dev/null'], {
    cwd: CHECKOUT,
    env: { PATH: process.env.PATH, SHELL: '/bin/sh', ...env },
    stdio: 'ignore',
  })
  t.teardown(() => terminal.kill('SIGKILL'))
  const said = async () => readFileSync(output, 'utf8')
  await eventually(async () => (await said()).includes('Recoup is at'), { withinMs: 90_000 })
  const [dev = 0] = childrenOf(terminal.pid as number)
  const children = childrenOf(dev)
  t.equal(children.length, 2)
  terminal.kill('SIGKILL')
  await eventually(async () => (await said()).endsWith('Stopped; everything is kept.\n'))
  t.notMatch(await said(), 'replac')
  for (const pid of children) t.throws(() => process.kill(pid, 0))
})

t.test('what fails half-way through its start ends, with exit code 1', async (t) => {
  const { url } = await database(t)
  const env = { DATABASE_URL: url, DATA_DIR: await emptyFolder(t), PORT: '0' }
  const boss = new PgBoss(url)
  await boss.start()
  await boss.stop({ graceful: false })
  const sql = postgres(url, { max: 1 })
  t.teardown(() => sql.end())
  await sql.unsafe(`create function refuse() returns trigger language plpgsql as $$ begin raise 'refused'; end $$;
    create trigger refuse before insert on pgboss.schedule for each row execute function refuse();
    create trigger refuse before insert on secret for each row when (new.name = 'cursor') execute function refuse()`)
  for (const command of ['work', 'serve'])
    await t.test(command, async (t) => {
      const run = startRecoup([command], { env })
      t.teardown(async () => {
        run.child.kill('SIGKILL')
        await run.ended
      })
      await eventually(async () => run.child.exitCode !== null)
      t.match(await run.ended, { code: 1, stderr: /^recoup: refused/m })
    })
})

t.test('a process that cannot be started', async (t) => {
  const { execPath } = process
  t.teardown(() => {
    process.execPath = execPath
  })
  const serve = async (t: Test) => {
    const supervisor = supervise([['serve']], { ...process.env, ...env, LOG_LEVEL: 'error' })
    t.teardown(() => supervisor.stop())
    await supervisor.ready
    return supervisor
  }

  await t.test('leaves the one that it was to replace', async (t) => {
    const { replace } = await serve(t)
    process.execPath = '/nowhere'
    await replace()
    t.equal(await answer(), 200)
  })
  await t.test('is tried again', async (t) => {
    await serve(t)
    process.execPath = execPath
    t.equal(await eventually(() => answer()), 200)
  })
})

const sum = (numbers: number[]) => numbers.reduce((total, number) => total + number, 0)

const listening = (text: string) => text.split('"event":"listening"').length - 1

/** How many clients a server has; its connections to Postgres come and go by themselves. */
function clientsOf(pid: number): number {
  const at = `:${port.toString(16).toUpperCase().padStart(4, '0')}`
  const established = readFileSync('/proc/net/tcp', 'utf8')
    .split('\n')
    .map((line) => line.trim().split(/ +/))
    .filter(([, local, , state]) => local?.endsWith(at) && state === '01')
    .map((fields) => `socket:[${fields[9]}]`)
  return readdirSync(`/proc/${pid}/fd`).filter((fd) => {
    try {
      return established.includes(readlinkSync(`/proc/${pid}/fd/${fd}`))
    } catch {
      return false
    }
  }).length
}

async function connected(): Promise<Socket> {
  const socket = connect(port, '127.0.0.1')
  await once(socket, 'connect')
  return socket
}

function answer(agent: Agent | false = false): Promise<number> {
  return new Promise((resolve, reject) => {
    const sent = get({ port, path: '/healthz', agent }, (response: IncomingMessage) => {
      response.resume().on('end', () => resolve(response.statusCode ?? 0))
      response.on('error', reject)
    })
    sent.on('error', reject)
  })
}
