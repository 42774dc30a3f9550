import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, mkdirSync, openSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { CHECKOUT } from '../src/config.ts'
import { findPostmaster } from '../src/store/embedded/postmaster.ts'
import { childrenOf } from './fixtures/children.ts'
import { clusterFolder } from './fixtures/cluster.ts'
import { database } from './fixtures/database.ts'
import { eventually } from './fixtures/eventually.ts'
import { freePort } from './fixtures/free-port.ts'
import { recoup } from './fixtures/recoup.ts'

/** What ends a command or a service, and how; and what does not. */

const LOG = JSON.stringify(fileURLToPath(new URL('../src/log.ts', import.meta.url)))

t.test('a line of the log that cannot be written is dropped, and counted by the next one', async (t) => {
  await t.test('into a file', async (t) => {
    const path = join(t.testdir(), 'log')
    const file = openSync(path, 'a')
    const logger = startNode(
      t,
      `import { log } from ${LOG}
      for await (const line of (await import('node:readline')).createInterface({ input: process.stdin })) {
        log('info', line)
        process.stderr.write('', () => process.stdout.write('logged'))
      }`,
      file,
    )
    closeSync(file)
    const say = async (event: string) => {
      logger.stdin?.write(`${event}\n`)
      await once(logger.stdout as NodeJS.ReadableStream, 'data')
    }
    await say('first')
    const { length } = readFileSync(path)
    limitFiles(logger, length + 30)
    for (const lost of ['torn', 'lost', 'lost, too']) await say(lost)
    limitFiles(logger, 'unlimited')
    await say('second')
    await say('third')
    const [first, torn, ...rest] = readFileSync(path, 'utf8').trim().split('\n')
    t.match(JSON.parse(first as string), { event: 'first' })
    t.equal(torn?.length, 30)
    t.match(
      rest.map((line) => JSON.parse(line)),
      [
        { event: 'second', dropped_lines: 2 },
        { event: 'third', dropped_lines: undefined },
      ],
    )
  })

  await t.test('to a reader who stands still', async (t) => {
    const logger = startNode(
      t,
      `import { log } from ${LOG}
      for (let line = 0; line < 20_000; line++) log('info', 'many', { line, text: 'x'.repeat(200) })
      process.stdout.write(String(process.stderr.writableLength))
      await (await import('node:stream/consumers')).text(process.stdin)
      log('info', 'last')`,
      'pipe',
    )
    const [waiting] = await once(logger.stdout as NodeJS.ReadableStream, 'data')
    t.ok(Number(waiting) < 2_000_000, `${waiting} bytes wait`)
    let said = ''
    logger.stderr?.setEncoding('utf8').on('data', (text: string) => {
      said += text
    })
    await eventually(async () => said.length > Number(waiting) && said.endsWith('\n'))
    logger.stdin?.end()
    await once(logger, 'close')
    const lines = said
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line))
    t.equal(lines.length - 1 + lines.at(-1).dropped_lines, 20_000)
  })
})

t.test('a service goes on without a log', async (t) => {
  const { url } = await database(t)
  const folder = t.testdir()
  const service = async (t: Test, args: string[], stdio: (number | 'pipe')[]) => {
    const port = await freePort()
    const child = start(args, { DATABASE_URL: url, DATA_DIR: folder, PORT: `${port}` }, stdio)
    t.teardown(() => child.kill('SIGKILL'))
    const answer = async () => (await fetch(`http://127.0.0.1:${port}/v1/brand`)).status
    return { child, answer }
  }
  const goesOn = async (t: Test, { child, answer }: Awaited<ReturnType<typeof service>>) => {
    for (let n = 0; n < 5; n++) t.equal(await answer(), 401)
    const ended = once(child, 'exit')
    child.kill('SIGTERM')
    t.same(await ended, [0, null])
  }

  await t.test('whose disk is full', async (t) => {
    const full = openSync('/dev/full', 'w')
    const started = await service(t, ['dev', '--no-demo'], [full, full])
    closeSync(full)
    const pids = await eventually(
      async () => {
        await started.answer()
        const pids = childrenOf(started.child.pid as number)
        return pids.length === 2 && pids
      },
      { withinMs: 90_000 },
    )
    for (let n = 0; n < 5; n++) t.equal(await started.answer(), 401)
    t.same(childrenOf(started.child.pid as number), pids)
    await goesOn(t, started)
  })

  await t.test('whose reader has gone', async (t) => {
    const started = await service(t, ['serve'], ['pipe', 'pipe'])
    await once(started.child.stderr as NodeJS.ReadableStream, 'data')
    started.child.stderr?.destroy()
    started.child.stdout?.destroy()
    await eventually(started.answer, { withinMs: 90_000 })
    await goesOn(t, started)
  })
})

t.test('a command that is cut short leaves no Postgres behind', async (t) => {
  const dataDir = await clusterFolder(t)
  const env = { DATA_DIR: dataDir }
  const cluster = join(dataDir, 'postgres')
  t.match(await recoup(['migrate'], { env }), { code: 0 })
  t.match(await recoup(['brand', 'create', '--name', 'Shop', '--shop', 'one.myshopify.com'], { env }), {
    code: 0,
  })
  const LONG =
    'select count(*) from range(1000000000) a, range(1000000) b where hash(a.range + b.range) % 7 = 1'
  /** In its statement: nothing else of it takes so long. */
  const isBusy = async ({ pid }: ChildProcess) => cpuSeconds(pid as number) > 4
  const isOpen = async () => findPostmaster(cluster) !== null
  const begin = (t: Test, args: string[]) => {
    const child = start(args, env)
    t.teardown(() => child.kill('SIGKILL'))
    const ended = once(child, 'exit')
    return { child, ended }
  }

  await t.test('by who reads its output', async (t) => {
    const { child, ended } = begin(t, ['sql', 'from range(1000000)', '--json'])
    await once(child.stdout as NodeJS.ReadableStream, 'data')
    child.stdout?.destroy()
    t.same(await ended, [0, null])
    t.equal(findPostmaster(cluster), null)
  })

  for (const signal of ['SIGINT', 'SIGHUP'] as const)
    await t.test(`by ${signal}, sent twice as timeout does`, async (t) => {
      const { child, ended } = begin(t, ['sql', LONG])
      await eventually(() => isBusy(child))
      child.kill(signal)
      child.kill(signal)
      t.same(await ended, [null, signal])
      t.equal(findPostmaster(cluster), null)
    })

  /** No command that heeds the signal. */
  const waits = [
    'user',
    'create',
    '--brand',
    'one',
    '--email',
    'ann@example.com',
    '--role',
    'admin',
    '--password-stdin',
  ]

  await t.test('that starts, or waits for its input', async (t) => {
    const { child, ended } = begin(t, waits)
    await eventually(isOpen)
    child.kill('SIGTERM')
    t.same(await ended, [null, 'SIGTERM'])
    t.equal(findPostmaster(cluster), null)
  })

  await t.test('but where a second Ctrl-C does not wait for that', async (t) => {
    const { child, ended } = begin(t, waits)
    const { pid } = await eventually(async () => findPostmaster(cluster))
    process.kill(pid, 'SIGSTOP')
    t.teardown(() => process.kill(pid, 'SIGCONT'))
    await eventually(async () => child.signalCode !== null || (child.kill('SIGINT') && false), {
      everyMs: 200,
    })
    t.same(await ended, [null, 'SIGINT'])
    t.ok(findPostmaster(cluster))
  })

  await t.test('and no half of a backup, but for one that was killed, which it names', async (t) => {
    const folder = join(t.testdir(), 'backup')
    /** In the middle of it, unless it was over by then. */
    const cutShort = async () => {
      rmSync(folder, { recursive: true, force: true })
      mkdirSync(folder)
      const { child, ended } = begin(t, ['backup', folder])
      await eventually(async () => readdirSync(folder).length > 0, { everyMs: 1 })
      child.kill('SIGINT')
      return await ended
    }
    let end = await cutShort()
    for (let more = 0; more < 4 && end[0] === 0; more++) end = await cutShort()
    t.same(end, [null, 'SIGINT'])
    t.same(readdirSync(folder), [])
    t.equal(findPostmaster(cluster), null)

    for (const part of ['lake', 'postgres']) mkdirSync(join(folder, part))
    const refused = await recoup(['backup', folder], { env })
    t.match(refused, { code: 1, stderr: /without its backup\.json: .*killed.* remove .*lake and .*postgres/ })
    writeFileSync(join(folder, 'other'), '')
    t.match(await recoup(['backup', folder], { env }), { code: 1, stderr: /is not empty/ })
  })
})

/** `stdio`: of stdout and stderr; stdin stays open. */
function start(
  args: readonly string[],
  env: Record<string, string>,
  [out, err]: (number | 'pipe')[] = ['pipe', 'pipe'],
): ChildProcess {
  return spawn(join(CHECKOUT, 'bin/recoup'), args, {
    env: { PATH: process.env.PATH, HOME: process.env.HOME, ...env },
    stdio: ['pipe', out, err, 'ipc'],
  })
}

function startNode(t: Test, program: string, stderr: number | 'pipe'): ChildProcess {
  const child = spawn(process.execPath, ['--input-type=module', '--eval', program], {
    stdio: ['pipe', 'pipe', stderr],
  })
  t.teardown(() => child.kill('SIGKILL'))
  return child
}

/** The soft limit alone: it can be raised again. */
function limitFiles({ pid }: ChildProcess, bytes: number | 'unlimited'): void {
  const { status, stderr } = spawnSync('prlimit', ['--pid', `${pid}`, `--fsize=${bytes}:`])
  if (status !== 0) throw new Error(`${stderr}`)
}

const cpuSeconds = (pid: number): number => {
  const [user, system] =
    readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ').slice(11, 13) ?? []
  return (Number(user) + Number(system)) / 100
}
