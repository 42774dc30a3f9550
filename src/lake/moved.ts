import { type Failure, fail } from '../errors.ts'
import type { Pipeline } from './pipeline.ts'

interface Position {
  exported_below: string
  /** The oldest transaction that is open, or the next one. */
  horizon: string
}

/** How far the lake is, and how far it may go. */
export const positionOf = ({ postgres }: Pick<Pipeline, 'postgres'>): Promise<Position> =>
  postgres.pipeline.one<Position>('lake_state_read')

/** Throws `unavailable` where transactions have begun to count anew: what is logged from then on passes for exported. */
export function refuseMoved(position: Position): void {
  const problem = problemOf(position)
  if (problem) throw problem
}

/** Why nothing that comes in reaches the lake, in words; null where it does. */
export const movedProblem = async (pipeline: Pick<Pipeline, 'postgres'>): Promise<string | null> =>
  problemOf(await positionOf(pipeline))?.message ?? null

/** The horizon of one cluster never goes back. */
function problemOf({ exported_below, horizon }: Position): Failure | null {
  if (BigInt(horizon) >= BigInt(exported_below)) return null
  return fail(
    'unavailable',
    `The lake has what came before transaction ${exported_below}, and this Postgres is at ${horizon} only: the database was moved here by a dump or by logical replication, which count transactions anew. What comes in does not reach the lake, and stays in the log. Stop Recoup, go back to the Postgres of before, and move it by recoup backup and recoup restore.`,
  )
}
