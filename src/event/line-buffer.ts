/** The lines of the request that is being read: one buffer for all requests, which are read one at a time. */
let out = Buffer.allocUnsafe(1 << 19)
let length = 0

/** From here the copy that the engine makes is quicker than a loop, whose call costs nothing. */
const LONG = 64

/** Starts anew, with room for so many bytes. */
export function begin(longest: number): void {
  if (out.length < longest) out = Buffer.allocUnsafe(longest)
  length = 0
}

export function put(bytes: Buffer, from: number, to: number): void {
  if (to - from >= LONG) {
    length += bytes.copy(out, length, from, to)
    return
  }
  const target = out
  let next = length
  for (let at = from; at < to; at++) target[next++] = bytes[at] as number
  length = next
}

export function putByte(byte: number): void {
  out[length++] = byte
}

/** The decimal digits of an integer that is not negative. */
export function putNumber(value: number): void {
  let rest = value
  let digits = 1
  for (let limit = 10; limit <= value; limit *= 10) digits++
  for (let at = length + digits - 1; at >= length; at--) {
    const tenth = Math.floor(rest / 10)
    out[at] = 48 + rest - tenth * 10
    rest = tenth
  }
  length += digits
}

/** What was put since `begin`; until the next one. */
export const written = () => out.subarray(0, length)
