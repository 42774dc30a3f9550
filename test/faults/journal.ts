import type { Test } from 'tap'

/** What a client knows of an event that it sent. */
export type Outcome = 'unknown' | 'refused' | 'acknowledged'

/** What the clients of a test were told of each event that they sent, by its id. */
export class Journal {
  readonly #brands = new Map<string, Map<string, Outcome>>()

  /** An event that was not sent before counts as unknown until an answer comes. */
  sent(brandId: string, ids: readonly string[]): void {
    const events = this.#of(brandId)
    for (const id of ids) events.set(id, 'unknown')
  }

  /** What was once acknowledged stays so; of an event that was once unknown no refusal says that it is not stored. */
  answered(brandId: string, ids: readonly string[], outcome: Outcome, wasUnknown: boolean): void {
    const events = this.#of(brandId)
    for (const id of ids) if (outcome !== 'refused' || !wasUnknown) events.set(id, outcome)
  }

  counts(): Record<Outcome, number> {
    const counts = { unknown: 0, refused: 0, acknowledged: 0 }
    for (const events of this.#brands.values()) for (const outcome of events.values()) counts[outcome]++
    return counts
  }

  /** Holds the lake's events of one brand, ids with how often they are there, against what its clients were told. */
  compare(t: Test, brandId: string, stored: ReadonlyMap<string, number>): void {
    const events = this.#of(brandId)
    const wrong = (outcome: Outcome, isRight: (times: number) => boolean) =>
      [...events]
        .filter(([id, known]) => known === outcome && !isRight(stored.get(id) ?? 0))
        .map(([id]) => id)
    t.same(wrong('acknowledged', (times) => times === 1).slice(0, 20), [], 'acknowledged: exactly once')
    t.same(wrong('refused', (times) => times === 0).slice(0, 20), [], 'refused: not stored')
    t.same(wrong('unknown', (times) => times <= 1).slice(0, 20), [], 'unknown: once at most')
    t.same([...stored.keys()].filter((id) => !events.has(id)).slice(0, 20), [], 'none invented')
  }

  #of(brandId: string): Map<string, Outcome> {
    const events = this.#brands.get(brandId) ?? new Map<string, Outcome>()
    this.#brands.set(brandId, events)
    return events
  }
}
