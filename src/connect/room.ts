import { fail } from '../errors.ts'

/** Bytes of deliveries that are being worked on, in all and of one brand. */
export interface RoomLimits {
  total: number
  brand: number
}

/** Work on so many bytes at once; what does not fit is to be sent again, and leaves room for other brands. */
export function createRoom({ total, brand }: RoomLimits) {
  const held = new Map<string, number>()
  let all = 0
  return async function inRoom<Result>(
    brandId: string,
    bytes: number,
    work: () => Promise<Result>,
  ): Promise<Result> {
    const own = held.get(brandId) ?? 0
    if (own + bytes > brand || all + bytes > total)
      throw fail('unavailable', 'Too much is being delivered at once. Send it again later.')
    held.set(brandId, own + bytes)
    all += bytes
    try {
      return await work()
    } finally {
      all -= bytes
      const left = (held.get(brandId) ?? 0) - bytes
      if (left > 0) held.set(brandId, left)
      else held.delete(brandId)
    }
  }
}
