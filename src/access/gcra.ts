import type { Rate } from '../op.ts'

/** A rate as GCRA takes it, in milliseconds: how far apart calls are, and how much of that may come at once. */
export interface Bucket {
  interval: number
  depth: number
}

const PERIOD_MS = { second: 1_000, minute: 60_000 }

export function bucketOf({ count, per, burst = count }: Rate): Bucket {
  const interval = PERIOD_MS[per] / count
  return { interval, depth: burst * interval }
}

/** Thousandths of a microsecond are the rounding of intervals such as a third of a second. */
const ROUNDING = 1e-6

/** How long a call at `now` has to wait in a bucket that is full again at `fullAt`; 0: not at all. */
export function waitOf({ interval, depth }: Bucket, fullAt: number, now: number): number {
  const wait = Math.max(fullAt, now) + interval - depth - now
  return wait > ROUNDING ? wait : 0
}

/** When the bucket is full again after one more call. */
export const afterCall = ({ interval }: Bucket, fullAt: number, now: number): number =>
  Math.max(fullAt, now) + interval
