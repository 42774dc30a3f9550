import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { LoadOrder, LoadResult } from './generator.ts'
import type { OpenOrder, OpenResult } from './open-loop.ts'
import { hasWrk, wrk } from './wrk.ts'

export type Generator = 'wrk' | 'autocannon'

/** Those of this machine, the one whose figures count first. */
export const generators = (): Generator[] => (hasWrk() ? ['wrk', 'autocannon'] : ['autocannon'])

/** As many requests as a number of connections can have answered, one after the other. */
export const closedLoad = (generator: Generator, order: LoadOrder): Promise<LoadResult> =>
  generator === 'wrk' ? wrk(order) : ordered('generator.ts', order)

/**
 * Requests at a fixed rate, whatever the answers do. wrk's own schedule where it is installed: on the same cores, a
 * generator in Node is itself late by more than the server (p99 74 ms against 2 ms at 5,000 requests/s thrown away).
 */
export async function pacedLoad(order: LoadOrder, rate: number): Promise<Pick<LoadResult, 'p99'>> {
  if (hasWrk()) return await wrk({ ...order, connections: PACED_CONNECTIONS }, rate)
  const { hostname, port, pathname } = new URL(order.url)
  const senders = [{ ...order, name: 'paced', rate }]
  const [result] = await openLoad({
    host: hostname,
    port: Number(port),
    path: pathname,
    seconds: order.seconds,
    senders,
  })
  return { p99: result?.p99 ?? 0 }
}

/** More than answers are awaited at any moment. */
const PACED_CONNECTIONS = 512

/** Requests at fixed rates; the results are in the order of the senders. */
export const openLoad = (order: OpenOrder): Promise<OpenResult[]> => ordered('open-loop.ts', order)

/** In a process of its own, since the load must not wait for what the benchmark does beside it. */
async function ordered<Result>(program: string, order: LoadOrder | OpenOrder): Promise<Result> {
  const child = fork(join(import.meta.dirname, program))
  child.send(order)
  const [{ result, error }] = (await once(child, 'message')) as [{ result?: Result; error?: string }]
  if (child.connected || child.exitCode === null) await once(child, 'exit')
  if (!result) throw new Error(`the generator failed: ${error}`)
  return result
}
