/**
 * At most so much a tick, but one transaction at least: bounds its memory, its disk and the time that a kill can cost. A
 * million ordinary events are 290 MB of lines, and less than 64 MB as compressed.
 */
export interface TickBounds {
  events: number
  /** Of one event each where little comes at once: each of them is read and expanded by itself. */
  batches: number
  /** As they are in the log. */
  compressedBytes: number
  /** Of the lines: 61 KB of the log can be 380 MB of them. */
  bytes: number
  /**
   * Of long lines: DuckDB works on 2,048 rows at once in several copies, and cannot spill them. 1,500 lines of 255 KB
   * were too much for 2 GB.
   */
  longBytes: number
}

export const TICK_BOUNDS: TickBounds = {
  events: 1_000_000,
  batches: 100_000,
  compressedBytes: 64 << 20,
  bytes: 384 << 20,
  longBytes: 64 << 20,
}
