/** Says whether the event loop keeps up. */
export interface LoopWatch {
  /** True while the loop is late by more than the limit at each look: a single long turn, once noticed, is over. */
  lagging(): boolean
  close(): void
}

const LOOK_MS = 100
const MOST_LATE_MS = 200

export function watchLoop(): LoopWatch {
  let due = performance.now() + LOOK_MS
  let [late, before] = [0, 0]
  const timer = setInterval(() => {
    const now = performance.now()
    before = late
    late = now - due
    due = now + LOOK_MS
  }, LOOK_MS).unref()
  return {
    lagging: () => Math.min(late, before) > MOST_LATE_MS,
    close: () => clearInterval(timer),
  }
}
