import { serviceSeal } from '../access/service-seal.ts'
import type { Config } from '../config.ts'
import { holdPort, portIsFree } from '../http/listen.ts'
import { errorFields, log } from '../log.ts'
import { type Supervisor, supervise, tellReady } from '../supervise.ts'
import { command, integerOption, type Run, UsageError, type Values } from './command.ts'
import { ensureDemo, welcome } from './demo.ts'

interface Stop {
  /** Resolves at the first SIGINT or SIGTERM, or when the supervisor died. */
  asked: Promise<string>
  stopped(): boolean
}

/** A second signal ends the process at once. */
export function stopSignal(): Stop {
  const { promise, resolve } = Promise.withResolvers<string>()
  let reason: string | undefined
  const stop = (why: string) => {
    reason ??= why
    resolve(reason)
  }
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    let again = false
    process.on(signal, () => {
      if (again) process.exit(130)
      again = true
      stop(signal)
    })
  }
  process.once('disconnect', () => stop('the supervisor is gone'))
  process.channel?.unref()
  return { asked: promise, stopped: () => reason !== undefined }
}

const longRunning = async (work: () => Promise<{ stop(): Promise<void> }>): Promise<undefined> => {
  const { asked } = stopSignal()
  const running = await work()
  tellReady()
  const signal = await asked
  log('info', 'stopping', { signal })
  await running.stop().catch((error) => log('error', 'stop_failed', errorFields(error)))
}

const MOST_PROCESSES = 16
/** Postgres connections of servers that share a port, together; each has a few, and no more than one alone. */
const SHARED_CONNECTIONS = 16
const connectionsOf = (oneOf: number) => Math.min(8, Math.max(3, Math.ceil(SHARED_CONNECTIONS / oneOf)))

const processesOption = {
  processes: { type: 'string', placeholder: 'N', what: 'Server processes that share the port; default 1' },
} as const

function processesOf(values: Values, { port }: Config): number {
  const processes = integerOption(values, 'processes', 1, 1, MOST_PROCESSES)
  if (processes > 1 && port === 0)
    throw new UsageError(
      '--processes needs a PORT of its own: with PORT=0 each process would take another one',
    )
  return processes
}

/** Their commands. They share the port, with successors too, and what one may use. */
const servers = (processes: number, { port }: Config): string[][] =>
  Array.from({ length: processes }, () => ['serve', ...(port === 0 ? [] : ['--one-of', `${processes}`])])

/** SIGHUP replaces the processes one by one: the way to new code, or new settings of theirs, without a pause. */
function replaceAtHangup({ replace }: Supervisor): void {
  process.on('SIGHUP', () => {
    log('info', 'replacing', {})
    void replace()
  })
}

async function serveMany(processes: number, { app, config }: Run): Promise<void> {
  const { asked } = stopSignal()
  const letPortGo = await holdPort(config.host, config.port)
  await serviceSeal(await app())
  const supervisor = supervise(servers(processes, config), { ...process.env, LOG_LEVEL: config.logLevel })
  replaceAtHangup(supervisor)
  log('info', 'stopping', { signal: await asked })
  letPortGo()
  await supervisor.stop()
}

/** Server and worker are imported by their commands alone: all others start in half the time without them. */
export const runCommands = [
  command({
    name: 'dev',
    what: 'Run server and worker; makes a demo brand when there is none',
    begins: true,
    migrates: true,
    logs: true,
    options: { 'no-demo': { type: 'boolean', what: 'Make no demo brand' }, ...processesOption },
    run: async ({ app: open, values, config, progress }: Run) => {
      const processes = processesOf(values, config)
      const { asked, stopped } = stopSignal()
      const letPortGo = config.port === 0 ? null : await holdPort(config.host, config.port)
      const app = await open()
      await serviceSeal(app)
      const demo = values['no-demo'] === true ? null : await ensureDemo(app, progress)
      // Asked to stop while the demo was made: there is nothing to start any more.
      if (stopped()) return
      const commands = [...servers(processes, config), ['work']]
      const supervisor = supervise(commands, { ...process.env, LOG_LEVEL: config.logLevel })
      replaceAtHangup(supervisor)
      await Promise.race([supervisor.ready, asked])
      if (!stopped()) process.stdout.write(welcome(config, demo))
      await asked
      letPortGo?.()
      await supervisor.stop()
      process.stdout.write('Stopped; everything is kept.\n')
    },
  }),
  command({
    name: 'serve',
    what: 'Run the HTTP server',
    begins: true,
    migrates: true,
    overNewer: true,
    options: {
      ...processesOption,
      'one-of': {
        type: 'string',
        placeholder: 'N',
        what: 'Share the port, and what one server may use, with others that say so; 1: the port only, for a successor',
      },
    },
    logs: true,
    run: async (run: Run) => {
      const { app, values, config } = run
      const processes = processesOf(values, config)
      if (values.processes !== undefined && values['one-of'] !== undefined)
        throw new UsageError(
          '--processes and --one-of exclude each other: servers of one command share the port by themselves',
        )
      if (processes > 1) return await serveMany(processes, run)
      const oneOf = integerOption(values, 'one-of', 0, 1, MOST_PROCESSES)
      if (!oneOf && config.port !== 0) await portIsFree(config.host, config.port)
      const open = () => (oneOf ? app({ connections: connectionsOf(oneOf) }) : app())
      await longRunning(async () => {
        const { startServer } = await import('../serve.ts')
        return await startServer(await open(), oneOf ? { oneOf } : {})
      })
    },
  }),
  command({
    name: 'work',
    what: 'Run the workers: snapshots, refreshes, compaction, retention',
    begins: true,
    migrates: true,
    options: {},
    logs: true,
    run: async ({ app }: Run) =>
      await longRunning(async () => {
        const { startWorker } = await import('../work.ts')
        return await startWorker(await app())
      }),
  }),
  command({
    name: 'migrate',
    what: 'Bring the database to the newest schema',
    begins: true,
    migrates: true,
    options: {},
    run: async ({ app: open }: Run) => ({ applied: (await open()).migrated }),
    text: ({ applied }) =>
      applied.length ? `Applied ${applied.join(', ')}` : 'The database has the newest schema.',
  }),
]
