const LINE_END = 10
/** 2,048 lines of it are 32 MB. */
const LONG_BYTES = 16 << 10

/** Bytes of NDJSON that comes in parts, and of its long lines. */
export class LineWeight {
  bytes = 0
  longBytes = 0
  /** Bytes so far of a line that the next part goes on with. */
  #begun = 0

  add(part: Buffer): void {
    this.bytes += part.length
    for (let at = 0; at < part.length; ) {
      // None of the lines up to the last end within reach is long: they need not be looked at one by one.
      const reach = at + LONG_BYTES - this.#begun
      const last = reach > at ? part.lastIndexOf(LINE_END, reach - 1) : -1
      if (last >= at) {
        this.#begun = 0
        at = last + 1
        continue
      }
      const end = part.indexOf(LINE_END, at)
      const next = end < 0 ? part.length : end + 1
      this.#begun += next - at
      if (end >= 0) {
        if (this.#begun > LONG_BYTES) this.longBytes += this.#begun
        this.#begun = 0
      }
      at = next
    }
  }
}
