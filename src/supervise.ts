import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { errorFields, log } from './log.ts'

const CLI = fileURLToPath(new URL('./cli.ts', import.meta.url))
/** A process that dies is started again after this long, doubled each time up to the limit while it dies at once. */
const RESTART_MS = 500
const RESTART_LIMIT_MS = 30_000
const HEALTHY_MS = 10_000
const STOP_MS = 30_000
/** A successor that does not work by then is given up, and the one before it stays. */
const READY_MS = 60_000
const STOPS = 'the service stops'

export interface Supervisor {
  /** Resolves once each process works, or is known not to. */
  readonly ready: Promise<void>
  /** Every process is replaced, one after the other: the next one works before the one before it is asked to stop. */
  replace(): Promise<void>
  /** Ends the processes with SIGTERM and waits for them. */
  stop(): Promise<void>
}

/** What a process that is supervised tells once it works. Nothing happens when nobody supervises it. */
export function tellReady(): void {
  process.send?.('ready', undefined, undefined, () => {})
}

/**
 * Keeps commands of recoup running as processes of their own, so that heavy work delays no answer and several servers
 * use several cores. `commands`: each with its arguments.
 */
export function supervise(
  commands: readonly (readonly string[])[],
  env: NodeJS.ProcessEnv = process.env,
): Supervisor {
  const stopping = new AbortController()
  const kept = commands.map((args) => new Kept(args, env, stopping.signal))
  let replacing = Promise.resolve()
  return {
    ready: Promise.all(kept.map((one) => one.began)).then(() => {}),
    replace: () => {
      replacing = replacing.then(async () => {
        for (const one of kept) await one.replace()
        log('info', 'processes_replaced', { processes: kept.length })
      })
      return replacing
    },
    stop: async () => {
      stopping.abort()
      await Promise.all([replacing, ...kept.map((one) => one.stop())])
    },
  }
}

/** One command that always has a process. */
class Kept {
  readonly #args: readonly string[]
  readonly #env: NodeJS.ProcessEnv
  readonly #stopping: AbortSignal
  /** Why it does not work; undefined once it does. */
  readonly began: Promise<string | undefined>
  readonly #ended: Promise<void>
  /** None where the system refused to start one. */
  #running: ChildProcess | undefined

  constructor(args: readonly string[], env: NodeJS.ProcessEnv, stopping: AbortSignal) {
    this.#args = args
    this.#env = env
    this.#stopping = stopping
    this.#running = this.#start()
    this.began = outcome(this.#running, stopping)
    this.#ended = this.#keep()
  }

  async replace(): Promise<void> {
    if (this.#stopping.aborted) return
    const next = this.#start()
    const failed = await outcome(next, this.#stopping)
    if (failed !== undefined || this.#stopping.aborted) {
      log('error', 'process_not_replaced', { process: this.#args[0], reason: failed ?? STOPS })
      return await terminate(next)
    }
    const before = this.#running
    this.#running = next
    await terminate(before)
  }

  async stop(): Promise<void> {
    while (runs(this.#running)) await terminate(this.#running)
    await this.#ended
  }

  #start(): ChildProcess | undefined {
    const failed = (error: unknown) => log('error', 'process_failed', errorFields(error))
    try {
      // The channel says when the process works; it breaks when this process dies, and then the child stops, too.
      const child = spawn(process.execPath, [CLI, ...this.#args], {
        stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
        env: this.#env,
      })
      return child.on('error', failed)
    } catch (error) {
      // Some refusals of the system, such as for want of memory, are thrown.
      failed(error)
      return undefined
    }
  }

  async #keep(): Promise<void> {
    let pause = RESTART_MS
    for (;;) {
      const started = Date.now()
      const child = this.#running
      await exited(child)
      if (this.#stopping.aborted) return
      if (this.#running !== child) continue
      pause = Date.now() - started > HEALTHY_MS ? RESTART_MS : Math.min(pause * 2, RESTART_LIMIT_MS)
      const { exitCode: code, signalCode: signal } = child ?? {}
      log('error', 'process_died', { process: this.#args[0], code, signal, restart_in_ms: pause })
      await sleep(pause, undefined, { signal: this.#stopping }).catch(() => {})
      if (this.#stopping.aborted) return
      if (this.#running === child) this.#running = this.#start()
    }
  }
}

/** One without an id was never started. */
const runs = (child: ChildProcess | undefined): child is ChildProcess =>
  child?.pid !== undefined && child.exitCode === null && child.signalCode === null

async function exited(child: ChildProcess | undefined): Promise<void> {
  if (runs(child)) await once(child, 'exit').catch(() => {})
}

/** Why a process does not work; undefined once it says that it does. */
async function outcome(child: ChildProcess | undefined, stopping: AbortSignal): Promise<string | undefined> {
  if (!runs(child)) return 'it could not be started'
  const over = new AbortController()
  const { signal } = over
  try {
    return await Promise.race([
      once(child, 'message', { signal }).then(() => undefined),
      once(child, 'exit', { signal }).then(() => 'it ended'),
      once(stopping, 'abort', { signal }).then(() => STOPS),
      sleep(READY_MS, `it was not ready after ${READY_MS / 1000} s`, { signal }),
    ])
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  } finally {
    over.abort()
  }
}

async function terminate(child: ChildProcess | undefined): Promise<void> {
  if (!runs(child)) return
  child.kill('SIGTERM')
  const timer = setTimeout(() => child.kill('SIGKILL'), STOP_MS)
  await exited(child)
  clearTimeout(timer)
}
