import { once } from 'node:events'
import type { Test } from 'tap'
import { childrenOf } from '../fixtures/children.ts'
import { eventually } from '../fixtures/eventually.ts'
import { type Started, startRecoup } from '../fixtures/recoup.ts'

/** Server processes that share one port. */
export interface Servers {
  /** Starts `recoup serve`, resolves when it listens. */
  serve(): Promise<Started>
  /** One that runs already, or a new one. */
  server(): Promise<Started>
  /** Starts `recoup serve --processes` in place of all others. Resolves when it listens. */
  supervised(processes: number): Promise<Supervised>
}

export interface Supervised {
  started: Started
  /** Its servers, once there are all of them and none of these others. */
  children(others?: readonly number[]): Promise<number[]>
}

const START_MS = 60_000

/** They end with the test. */
export function serversOf(t: Test, url: string, env: Record<string, string>): Servers {
  const servers: Started[] = []
  const start = (args: string[]) => {
    const started = startRecoup(args, { env })
    t.teardown(async () => {
      started.child.kill('SIGKILL')
      await started.ended
    })
    started.child.on('exit', (code) => code && t.comment(started.output.stderr.slice(-3000)))
    return started
  }
  const serve = async () => {
    const started = start(['serve', '--one-of', '1'])
    const ended = started.ended.then(({ stderr }) => {
      throw new Error(`recoup serve ended: ${stderr}`)
    })
    await Promise.race([once(started.child, 'message'), ended])
    ended.catch(() => {})
    servers.push(started)
    return started
  }
  const isRunning = ({ child }: Started) => child.exitCode === null && child.signalCode === null
  return {
    serve,
    server: async () => servers.find(isRunning) ?? (await serve()),
    supervised: async (processes) => {
      for (const { child, ended } of servers.splice(0)) {
        child.kill('SIGTERM')
        await ended
      }
      const started = start(['serve', '--processes', `${processes}`])
      await eventually(async () => (await fetch(`${url}/healthz`).catch(() => null))?.ok, {
        withinMs: START_MS,
      })
      return { started, children: childrenOfAll(started, processes) }
    },
  }
}

const childrenOfAll =
  ({ child }: Started, processes: number): Supervised['children'] =>
  (others = []) =>
    eventually(
      async () => {
        const now = childrenOf(child.pid ?? 0)
        return now.length === processes && !now.some((pid) => others.includes(pid)) && now
      },
      { withinMs: START_MS },
    )
