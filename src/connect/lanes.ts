import { fail } from '../errors.ts'

/** More webhooks of one brand than this do not wait here: the platform sends them again later. */
const MOST_WAITING = 200

/** Work of one brand one after the other, so that one busy store never holds every connection to Postgres. */
export function createLanes(most = MOST_WAITING) {
  const lanes = new Map<string, { last: Promise<unknown>; length: number }>()
  return async function inLane<Result>(brandId: string, work: () => Promise<Result>): Promise<Result> {
    const lane = lanes.get(brandId) ?? { last: Promise.resolve(), length: 0 }
    if (lane.length >= most)
      throw fail('unavailable', 'Too many webhooks of this store are waiting. Send it again later.')
    lanes.set(brandId, lane)
    lane.length++
    const result = lane.last.then(work)
    lane.last = result.catch(() => {})
    try {
      return await result
    } finally {
      lane.length--
      if (lane.length === 0) lanes.delete(brandId)
    }
  }
}
