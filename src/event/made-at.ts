/** A UUID of version 7, perhaps with the place of an event in the batch that it came in. */
const TIMED = /^([0-9a-f]{8})-([0-9a-f]{4})-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}(-\d+)?$/i

/** When an id was made in Unix milliseconds, by the clock of who made it; null where it does not tell. */
export function madeAt(id: string): number | null {
  const [, high, low] = TIMED.exec(id) ?? []
  return high === undefined ? null : Number.parseInt(`${high}${low}`, 16)
}
