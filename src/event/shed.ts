/** Twice in a row: a single long turn of the event loop, once noticed, is over. */
const MOST_LATE_MS = 200
const CUT = 0.7
const RAISE = 1.1

/**
 * What a process whose event loop does not keep up still takes: at each look so many requests of any one brand, fewer
 * as long as it is late and more when it is not, so that the brands that send most are cut first. To refuse all of
 * them instead, until the loop is in time again, left a tenth of the throughput at 1.25 times the peak.
 */
export class Shedder {
  /** Most requests of one brand between two looks. */
  #most = Number.POSITIVE_INFINITY
  #late = 0
  readonly #taken = new Map<string, number>()

  /** Whether one more request of the brand is taken. */
  takes(brandId: string): boolean {
    const taken = this.#taken.get(brandId) ?? 0
    if (taken >= this.#most) return false
    this.#taken.set(brandId, taken + 1)
    return true
  }

  /** To be called at even intervals, with how much later than due this call came. */
  look(lateMs: number): void {
    const late = Math.min(lateMs, this.#late) > MOST_LATE_MS
    // While it is late but catches up, what is taken stays: cutting on would leave it idle afterwards.
    const worse = late && lateMs >= this.#late
    this.#late = lateMs
    if (late || this.#most < Number.POSITIVE_INFINITY) {
      const greatest = Math.max(1, ...this.#taken.values())
      if (worse) this.#most = Math.max(1, Math.floor(Math.min(this.#most, greatest) * CUT))
      else if (!late)
        this.#most = this.#most > 2 * greatest ? Number.POSITIVE_INFINITY : Math.ceil(this.#most * RAISE)
    }
    this.#taken.clear()
  }
}

const LOOK_MS = 100

/** Looks whether the event loop of this process keeps up, until it is stopped. */
export function watchLoop(shedder: Shedder): () => void {
  let due = performance.now() + LOOK_MS
  const timer = setInterval(() => {
    const now = performance.now()
    shedder.look(now - due)
    due = now + LOOK_MS
  }, LOOK_MS).unref()
  return () => clearInterval(timer)
}
