import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { BatcherOptions } from '../src/event/batcher.ts'

/** commit: as the service does it; discard: parsed, checked, thrown away; rows: a Postgres row per event. */
export type Mode = 'commit' | 'discard' | 'rows'

export interface Usage {
  rss: number
  maxRss: number
  cpuMs: number
}

export interface Host {
  port: number
  usage(): Promise<Usage>
  stop(): Promise<void>
}

/** The collect host in a process of its own. `settings` cut what it can do. */
export const startCollectHost = (url: string, mode: Mode, settings: BatcherOptions = {}): Promise<Host> =>
  startHost('ingest-server.ts', [url, mode, JSON.stringify(settings)])

/** A program of this folder that serves, in a process of its own. */
export async function startHost(program: string, args: readonly string[]): Promise<Host> {
  // As bin/recoup starts it.
  const env = { ...process.env, UV_THREADPOOL_SIZE: '16' }
  const server = fork(join(import.meta.dirname, program), args, { env })
  const died = once(server, 'exit').then(() => {
    throw new Error(`${program} ended`)
  })
  died.catch(() => {})
  const [{ port }] = (await Promise.race([once(server, 'message'), died])) as [{ port: number }]
  return {
    port,
    usage: async () => {
      server.send('usage')
      const [usage] = await Promise.race([once(server, 'message'), died])
      return usage
    },
    stop: async () => {
      server.send('stop')
      await once(server, 'exit')
    },
  }
}
