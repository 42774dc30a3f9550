import { supervise } from '../dev.ts'
import { portIsFree } from '../http/listen.ts'
import { errorFields, log } from '../log.ts'
import { startServer } from '../serve.ts'
import { migrate } from '../store/migrate.ts'
import { startWorker } from '../work.ts'
import { command, type Run } from './command.ts'
import { ensureDemo, welcome } from './demo.ts'

interface Stop {
  /** Resolves at the first SIGINT or SIGTERM, or when the supervisor died. */
  asked: Promise<string>
  stopped(): boolean
}

/** A second signal ends the process at once. */
function stopSignal(): Stop {
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
  const signal = await asked
  log('info', 'stopping', { signal })
  await running.stop().catch((error) => log('error', 'stop_failed', errorFields(error)))
}

export const runCommands = [
  command({
    name: 'dev',
    what: 'Run server and worker; makes a demo brand when there is none',
    logs: true,
    options: { 'no-demo': { type: 'boolean', what: 'Make no demo brand' } },
    run: async ({ app: open, values, config, progress }: Run) => {
      const { asked, stopped } = stopSignal()
      if (config.port !== 0) await portIsFree(config.host, config.port)
      const app = await open()
      const demo = values['no-demo'] === true ? null : await ensureDemo(app, progress)
      // Asked to stop while the demo was made: there is nothing to start any more.
      if (stopped()) return
      const supervisor = supervise(['serve', 'work'], { ...process.env, LOG_LEVEL: config.logLevel })
      process.stdout.write(welcome(config, demo))
      await asked
      await supervisor.stop()
      process.stdout.write('Stopped; everything is kept.\n')
    },
  }),
  command({
    name: 'serve',
    what: 'Run the HTTP server',
    options: {},
    logs: true,
    run: async ({ app }: Run) => await longRunning(async () => await startServer(await app())),
  }),
  command({
    name: 'work',
    what: 'Run the workers: snapshots, refreshes, compaction, retention',
    options: {},
    logs: true,
    run: async ({ app }: Run) => await longRunning(async () => await startWorker(await app())),
  }),
  command({
    name: 'migrate',
    what: 'Bring the database to the newest schema',
    options: {},
    run: async ({ app: open }: Run) => await migrate((await open()).postgres.url),
    text: ({ applied }) =>
      applied.length ? `Applied ${applied.join(', ')}` : 'The database has the newest schema.',
  }),
]
