import type { Postgres } from './postgres.ts'

/** So often is said that somebody does the jobs. By the clock: while a machine sleeps it goes on. */
const EVERY_MS = 30_000

/** Says that the jobs of the service are done here. Resolves with whether nobody did them for a while before. */
export type Watch = () => Promise<boolean>

export function openWatch({ pipeline }: Pick<Postgres, 'pipeline'>, now: () => number = Date.now): Watch {
  let saidAt = Number.NEGATIVE_INFINITY
  let saying: Promise<boolean> | undefined
  const say = async (at: number): Promise<boolean> => {
    const { is_back } = await pipeline.one<{ is_back: boolean }>('worker_seen')
    saidAt = at
    return is_back
  }
  return async () => {
    const at = now()
    if (Math.abs(at - saidAt) < EVERY_MS) return false
    // Whoever comes meanwhile waits for what is being said.
    saying ??= say(at).finally(() => {
      saying = undefined
    })
    return await saying
  }
}
