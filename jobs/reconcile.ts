import { type ReconcileParts, reconcileAll } from '../src/connect/store/reconcile-all.ts'
import type { Job } from '../src/job.ts'

/** Hourly: what changed in connected stores is read again, in case a webhook was lost. */
export const reconcile: Job<ReconcileParts> = {
  queue: 'reconcile',
  every: '29 * * * *',
  timeoutSeconds: 3_300,
  policy: 'one',
  run: (parts, _data, control) => reconcileAll(parts, control.signal),
}
