import type { Statements } from '../op.ts'
import type { Pipeline } from './pipeline.ts'

/** Statements that see every batch of the event log, whatever moves between its partitions meanwhile; for a short while. */
export const withEventLog = <T>(
  { postgres }: Pick<Pipeline, 'postgres'>,
  work: (tx: Statements) => Promise<T>,
): Promise<T> =>
  postgres.pipeline.tx(async (tx) => {
    await tx.run('event_log_hold')
    return await work(tx)
  })
