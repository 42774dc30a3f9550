import { sweepSignIns } from '../src/access/sign-in/sweep.ts'
import type { Job } from '../src/job.ts'
import type { Pipeline } from '../src/lake/pipeline.ts'

/** Hourly: what has ended of sessions, grants, tokens and clients is removed. */
export const signIns: Job<Pick<Pipeline, 'postgres'>> = {
  queue: 'sign-ins',
  every: '41 * * * *',
  timeoutSeconds: 300,
  policy: 'one',
  run: ({ postgres }) => sweepSignIns(postgres.pipeline),
}
