import type { Test } from 'tap'
import { type Revision, Revisions } from './revisions.ts'

/** What a client knows of an event that it sent. */
export type Outcome = 'unknown' | 'refused' | 'acknowledged'

/** What a request tells. */
interface Told {
  /** Of its events in the lake. */
  ids: readonly string[]
  record?: Revision
  order?: Revision
}

/** What is stored of a brand. */
export interface Stored {
  /** Ids of events, with how often they are there. */
  events: ReadonlyMap<string, number>
  records: ReadonlyMap<string, number>
  orders: ReadonlyMap<string, number>
}

const OF_ORDER = 'service:order_created:'

/** What the clients of a test were told of each event that they sent, by its id. */
export class Journal {
  /** Of custom webhooks. */
  readonly records = new Revisions({ newestWins: false })
  readonly orders = new Revisions({ newestWins: true })
  readonly #brands = new Map<string, Map<string, Outcome>>()

  /** An event that was not sent before counts as unknown until an answer comes. */
  sent(brandId: string, { ids, record, order }: Told): void {
    const events = this.#of(brandId)
    for (const id of ids) events.set(id, 'unknown')
    if (record) this.records.sent(brandId, record)
    if (order) this.orders.sent(brandId, order)
  }

  /** Of an event that was once unknown no refusal says that it is not stored. */
  answered(brandId: string, { ids, record, order }: Told, outcome: Outcome, wasUnknown: boolean): void {
    const events = this.#of(brandId)
    for (const id of ids) if (outcome !== 'refused' || !wasUnknown) events.set(id, outcome)
    if (outcome !== 'acknowledged') return
    if (record) this.records.acknowledged(brandId, record)
    if (order) this.orders.acknowledged(brandId, order)
  }

  counts(): Record<Outcome | 'records' | 'orders', number> {
    const counts = { unknown: 0, refused: 0, acknowledged: 0 }
    for (const events of this.#brands.values()) for (const outcome of events.values()) counts[outcome]++
    return { ...counts, records: this.records.count, orders: this.orders.count }
  }

  /** Holds what is stored of one brand against what its clients were told. */
  compare(t: Test, brandId: string, { events: stored, records, orders }: Stored): void {
    const events = this.#of(brandId)
    const wrong = (outcome: Outcome, isRight: (times: number) => boolean) =>
      [...events]
        .filter(([id, known]) => known === outcome && !isRight(stored.get(id) ?? 0))
        .map(([id]) => id)
    t.same(wrong('acknowledged', (times) => times === 1).slice(0, 20), [], 'acknowledged: exactly once')
    t.same(wrong('refused', (times) => times === 0).slice(0, 20), [], 'refused: not stored')
    t.same(wrong('unknown', (times) => times <= 1).slice(0, 20), [], 'unknown: once at most')
    const ofOrders = [...stored].filter(([id]) => id.startsWith(OF_ORDER))
    const invented = [...stored.keys()].filter((id) => !events.has(id) && !id.startsWith(OF_ORDER))
    t.same(invented.slice(0, 20), [], 'none invented')
    this.records.compare(t, brandId, records)
    this.orders.compare(t, brandId, orders)
    const created = new Map(ofOrders.map(([id, times]) => [id.slice(OF_ORDER.length), times]))
    t.same(
      [...orders.keys()].filter((id) => created.get(id) !== 1),
      [],
      'each order is told of once',
    )
    t.equal(created.size, orders.size, 'and nothing that is none')
  }

  #of(brandId: string): Map<string, Outcome> {
    const events = this.#brands.get(brandId) ?? new Map<string, Outcome>()
    this.#brands.set(brandId, events)
    return events
  }
}
