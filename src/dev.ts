import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { log } from './log.ts'

const CLI = fileURLToPath(new URL('./cli.ts', import.meta.url))
/** A process that dies is started again after this long, doubled each time up to the limit while it dies at once. */
const RESTART_MS = 500
const RESTART_LIMIT_MS = 30_000
const HEALTHY_MS = 10_000
const STOP_MS = 30_000

export interface Supervisor {
  /** Ends the processes with SIGTERM and waits for them. */
  stop(): Promise<void>
}

/** Keeps `recoup serve` and `recoup work` running as processes of their own, so that heavy work delays no answer. */
export function supervise(commands: readonly string[], env: NodeJS.ProcessEnv = process.env): Supervisor {
  const stopping = new AbortController()
  const kept = commands.map((name) => keep(name, env, stopping.signal))
  return {
    stop: async () => {
      stopping.abort()
      await Promise.all(kept)
    },
  }
}

async function keep(name: string, env: NodeJS.ProcessEnv, stopping: AbortSignal): Promise<void> {
  let pause = RESTART_MS
  while (!stopping.aborted) {
    const started = Date.now()
    // The channel carries nothing: it breaks when this process dies, and then the child stops, too.
    const child = spawn(process.execPath, [CLI, name], {
      stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
      env,
    })
    const exited = once(child, 'exit') as Promise<[number | null, NodeJS.Signals | null]>
    const stop = () => void terminate(child)
    stopping.addEventListener('abort', stop)
    const [code, signal] = await exited
    stopping.removeEventListener('abort', stop)
    if (stopping.aborted) return
    pause = Date.now() - started > HEALTHY_MS ? RESTART_MS : Math.min(pause * 2, RESTART_LIMIT_MS)
    log('error', 'process_died', { process: name, code, signal, restart_in_ms: pause })
    await sleep(pause, undefined, { signal: stopping }).catch(() => {})
  }
}

async function terminate(child: ChildProcess): Promise<void> {
  child.kill('SIGTERM')
  const timer = setTimeout(() => child.kill('SIGKILL'), STOP_MS)
  await once(child, 'exit')
  clearTimeout(timer)
}
