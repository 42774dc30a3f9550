import { decimalOf } from '../exact.ts'

/** What a payload schema may be. Its texts count in UTF-8, as JSON. */
const MAX_BYTES = 65_536
/** Levels of objects and lists, the schema itself being the first. */
const MAX_DEPTH = 16
/** Values of all kinds. */
const MAX_NODES = 500

/**
 * Work that one check of data may take: some for each keyword and value that is looked at, for each name of an object
 * and each length of text that is gone through, text × pattern size for each match. The dearest known checks
 * (test/payload-work.test.ts) take up to 12 ms of CPU time, and up to about 20 the first time in a process.
 */
export const MAX_WORK = 50_000

/** The first limit that a schema is over, in words. Without recursion: it is nested as deep as its sender likes. */
export function overLimit(schema: object): string | null {
  const waiting: { value: object; depth: number }[] = [{ value: schema, depth: 1 }]
  let nodes = 1
  for (let next = waiting.pop(); next; next = waiting.pop()) {
    if (next.depth > MAX_DEPTH) return `must be nested at most ${MAX_DEPTH} levels deep`
    const values: unknown[] = Array.isArray(next.value) ? next.value : Object.values(next.value)
    nodes += values.length
    if (nodes > MAX_NODES) return `must have at most ${MAX_NODES} values`
    for (const value of values) {
      if (typeof value === 'object' && value !== null && decimalOf(value) === undefined)
        waiting.push({ value, depth: next.depth + 1 })
    }
  }
  return Buffer.byteLength(JSON.stringify(schema)) > MAX_BYTES
    ? `must be at most ${MAX_BYTES / 1024} KB`
    : null
}
