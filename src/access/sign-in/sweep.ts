import type { Statements } from '../../op.ts'

/** Removes what has ended: sessions, grants, codes, tokens, counted failures, and clients that nobody uses. */
export async function sweepSignIns(pipeline: Statements): Promise<void> {
  await pipeline.run('sign_in_sweep')
  await pipeline.run('oidc_sweep')
  await pipeline.run('attempt_sweep')
}
