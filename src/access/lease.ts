/** What a process may go by of what it read earlier. */
export interface Lease {
  /** The instant at which a reading begins, in the lease's own time. */
  mark(): number
  /** True while every change since that instant would have been heard of. */
  covers(mark: number): boolean
}

/** Without notifications: what was read less than so long ago. */
export const agedLease = (ms: number, now: () => number): Lease => ({
  mark: now,
  covers: (mark) => now() < mark + ms,
})

/** A lease that another party renews. */
export interface HeldLease extends Lease {
  /** Renewed by a message sent at that mark; what was heard in between counts when it had not ended before. */
  renewed(sentAt: number): void
  /** Ends it: nothing read so far is covered any more. */
  lose(): void
  readonly held: boolean
}

/** `ms`: how long it holds after a renewal was sent. */
export function heldLease(ms: number, monotonic = () => performance.now(), wall = Date.now): HeldLease {
  let since = Number.POSITIVE_INFINITY
  let until = 0
  // The monotonic clock stands still while a machine sleeps, the other one can be set back.
  let untilWall = 0
  const lease = {
    mark: monotonic,
    covers: (mark: number) => mark >= since && lease.held,
    get held() {
      return monotonic() < until && wall() < untilWall
    },
    renewed(sentAt: number) {
      const now = monotonic()
      if (!lease.held) since = now
      until = sentAt + ms
      untilWall = wall() - (now - sentAt) + ms
    },
    lose() {
      until = 0
    },
  }
  return lease
}
