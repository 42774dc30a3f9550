import { fail } from '../errors.ts'
import type { Batcher } from './batcher.ts'
import { quickEvents } from './quick.ts'
import { type Checked, checkEvents } from './shape.ts'

export interface Accepted {
  /** Events stored. */
  accepted: number
  /** Events left out because an earlier one of the request has the same eventId. */
  deduplicated: number
}

/** Whether an event, by its index in the request, cannot be stored just now. For tests of the partial answer. */
export type Fault = (index: number) => boolean

/** Checks and stores one body of POST /cdp/events; fails as checkEvents and Batcher.store do. */
export type Intake = (body: Buffer, brandId: string) => Promise<Accepted>

export function createIntake(batcher: Pick<Batcher, 'store'>, fault?: Fault): Intake {
  return async (body, brandId) => {
    const receivedAt = Date.now()
    const checked = quickEvents(body, brandId, receivedAt) ?? checkEvents(body, brandId, receivedAt)
    const { kept, failed } = fault ? withoutFailed(checked, fault) : { kept: checked, failed: [] }
    if (kept.events > 0) await batcher.store(brandId, kept.lines, kept.events)
    if (failed.length > 0) {
      const message = `${failed.length} events could not be stored; send only those in failed again.`
      throw fail('unavailable', message, { beside: { accepted: kept.events, failed } })
    }
    return { accepted: kept.events, deduplicated: kept.repeats.length }
  }
}

function withoutFailed(
  { lines, events, repeats }: Checked,
  fault: Fault,
): { kept: Checked; failed: number[] } {
  const failed: number[] = []
  const indexes = Array.from({ length: events + repeats.length }, (_, index) => index)
  const sent = indexes.filter((index) => !repeats.includes(index))
  const kept = lines
    .toString()
    .match(/.*\n/g)
    ?.filter((_, line) => {
      const index = sent[line] as number
      return !fault(index) || failed.push(index) === 0
    })
  return {
    kept: { lines: Buffer.from(kept?.join('') ?? ''), events: events - failed.length, repeats },
    failed,
  }
}
