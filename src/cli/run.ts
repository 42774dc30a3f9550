import { serviceSeal } from '../access/service-seal.ts'
import type { Config } from '../config.ts'
import { holdPort, portIsFree } from '../http/listen.ts'
import { errorFields, log } from '../log.ts'
import { type Supervisor, supervise, tellReady } from '../supervise.ts'
import { command, integerOption, type Run, UsageError, type Values } from './command.ts'
import { ensureDemo, welcome } from './demo.ts'
import type { Stop } from './stop.ts'

const longRunning = async (
  { stop }: Run,
  work: () => Promise<{ stop(): Promise<void> }>,
): Promise<undefined> => {
  // The supervisor decides what one to all of a group means.
  if (process.channel) stop.atHangup(() => {})
  const running = await work()
  tellReady()
  const signal = await stop.asked
  log('info', 'stopping', { signal })
  await running.stop().catch((error) => log('error', 'stop_failed', errorFields(error)))
}

const MOST_PROCESSES = 16
/** Postgres connections of servers that share a port, together; each has a few, and no more than one alone. */
const SHARED_CONNECTIONS = 16
const connectionsOf = (oneOf: number) => Math.min(8, Math.max(3, Math.ceil(SHARED_CONNECTIONS / oneOf)))

const processesOption = {
  processes: {
    type: 'string',
    placeholder: 'N',
    what: 'Server processes that share the port, 1 to 16; default 1',
  },
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
const servers = (processes: number): string[][] =>
  Array.from({ length: processes }, () => ['serve', '--one-of', `${processes}`])

/** SIGHUP replaces the processes one by one: the way to new code, or new settings of theirs, without a pause. */
function replaceAtHangup({ atHangup }: Stop, { replace }: Supervisor): void {
  atHangup(() => {
    log('info', 'replacing', {})
    void replace()
  })
}

async function serveMany(processes: number, { app, config, stop }: Run): Promise<void> {
  const letPortGo = await holdPort(config.host, config.port)
  await serviceSeal(await app())
  const supervisor = supervise(servers(processes), { ...process.env, LOG_LEVEL: config.logLevel })
  replaceAtHangup(stop, supervisor)
  log('info', 'stopping', { signal: await stop.asked })
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
    stops: true,
    run: async ({ app: open, values, config, progress, stop }: Run) => {
      if (config.port === 0)
        throw new UsageError('dev needs a PORT of its own: with PORT=0 it could not say where it is')
      const processes = processesOf(values, config)
      const letPortGo = await holdPort(config.host, config.port)
      const app = await open()
      await serviceSeal(app)
      const demo = values['no-demo'] === true ? null : await ensureDemo(app, progress)
      // Asked to stop while the demo was made: there is nothing to start any more.
      if (stop.signal.aborted) return
      const commands = [...servers(processes), ['work']]
      const supervisor = supervise(commands, { ...process.env, LOG_LEVEL: config.logLevel })
      replaceAtHangup(stop, supervisor)
      await Promise.race([supervisor.ready, stop.asked])
      if (!stop.signal.aborted) process.stdout.write(welcome(config, demo))
      await stop.asked
      letPortGo()
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
    stops: true,
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
      await longRunning(run, async () => {
        const { startServer } = await import('../serve.ts')
        return await startServer(await open(), oneOf ? { oneOf } : {})
      })
    },
  }),
  command({
    name: 'work',
    what: 'Run the workers: snapshots, refreshes, campaigns and their messages, store reconciles, erasures, retention',
    begins: true,
    migrates: true,
    options: {},
    logs: true,
    stops: true,
    run: async (run: Run) =>
      await longRunning(run, async () => {
        const { startWorker } = await import('../work.ts')
        return await startWorker(await run.app())
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
