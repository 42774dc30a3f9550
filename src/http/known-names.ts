import type { Schema } from '../op.ts'

/** The names that a schema knows at a path of what was sent, none where it takes any. */
export function knownNames(schema: Schema, path: readonly unknown[]): string[] {
  let at: unknown = schema
  for (const key of path) {
    const { entries, item } = bare(at)
    at = typeof key === 'number' ? item : entries?.[String(key)]
  }
  return Object.keys(bare(at).entries ?? {})
}

interface Parts {
  entries?: Readonly<Record<string, unknown>>
  item?: unknown
}

/** Out of what may be left out or null, and of what is checked besides. */
function bare(schema: unknown): Parts {
  const { wrapped, pipe } = (schema ?? {}) as { wrapped?: unknown; pipe?: readonly unknown[] }
  if (wrapped) return bare(wrapped)
  const checked = pipe?.find((one) => 'entries' in Object(one) || 'item' in Object(one))
  return (checked ?? schema ?? {}) as Parts
}
