import { fail } from '../errors.ts'
import type { Postgres } from '../store/postgres.ts'
import { type Batcher, type BatcherOptions, openBatcher } from './batcher.ts'
import { checkBrowserEvents, type Shop } from './browser.ts'
import type { Checked } from './line.ts'
import { quickBrowserEvents, quickEvents } from './quick.ts'
import { checkEvents } from './shape.ts'

export interface Accepted {
  /** Events stored. */
  accepted: number
  /** Events left out because an earlier one of the request has the same eventId. */
  deduplicated: number
}

/** Whether an event, by its index in the request, cannot be stored just now. For tests of the partial answer. */
export type Fault = (index: number) => boolean

/** What the collect host does with events. */
export interface Ingest {
  /** Keeps room for a body of so many bytes that is about to be read, as Batcher.admit does. */
  admit: Batcher['admit']
  /**
   * Checks and commits one body of POST /cdp/events, which it reads during the call only. Fails as checkEvents and
   * Batcher.store do.
   */
  accept(body: Buffer, brandId: string): Promise<Accepted>
  /** The same with one body of POST /cdp/ingest, as checkBrowserEvents does. */
  acceptBrowser(body: Buffer, shop: Shop): Promise<Accepted>
  /** Takes nothing more and finishes what waits. */
  close(): Promise<void>
}

export async function openIngest(
  postgres: Postgres,
  options: BatcherOptions & { fault?: Fault } = {},
): Promise<Ingest> {
  return createIngest(await openBatcher(postgres, options), options.fault)
}

export function createIngest(batcher: Batcher, fault?: Fault): Ingest {
  const store = async (brandId: string, checked: Checked): Promise<Accepted> => {
    if (fault) return await acceptOthers(batcher, brandId, checked, fault)
    await batcher.store(brandId, checked.lines, checked.events)
    return { accepted: checked.events, deduplicated: checked.repeats.length }
  }
  return {
    admit: batcher.admit,
    // Both async, so that what is thrown at once is a rejection.
    async accept(body, brandId) {
      const now = Date.now()
      return store(brandId, quickEvents(body, brandId, now) ?? checkEvents(body, brandId, now))
    },
    async acceptBrowser(body, shop) {
      const now = Date.now()
      return store(shop.brandId, quickBrowserEvents(body, shop, now) ?? checkBrowserEvents(body, shop, now))
    },
    close: () => batcher.close(),
  }
}

/** Stores the events without a fault; a 503 names the others. */
async function acceptOthers(
  batcher: Batcher,
  brandId: string,
  checked: Checked,
  fault: Fault,
): Promise<Accepted> {
  const repeats = new Set(checked.repeats)
  const sent = Array.from({ length: checked.events + repeats.size }, (_, index) => index)
  const indexes = sent.filter((index) => !repeats.has(index))
  const failed = indexes.filter((index) => fault(index))
  const lines = checked.lines.toString().split('\n')
  const stored = indexes.flatMap((index, line) => (failed.includes(index) ? [] : `${lines[line]}\n`))
  if (stored.length) await batcher.store(brandId, Buffer.from(stored.join('')), stored.length)
  if (failed.length === 0) return { accepted: stored.length, deduplicated: repeats.size }
  throw fail('unavailable', `${failed.length} events could not be stored; send only those in failed again.`, {
    beside: { accepted: stored.length, failed },
  })
}
