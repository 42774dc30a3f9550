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
