import { hash } from 'node:crypto'
import type { Pipeline } from '../../lake/pipeline.ts'
import type { Begun } from './erase.ts'

/** What was erased, when, for whom and how much of it; it names the customer by ids only. */
export interface Certificate {
  erasure_id: string
  brand_id: string
  requested_by: string
  requested_at: string
  /** What happened up to this moment was erased and stays out. */
  erased_at: string
  completed_at: string
  /** Public ids that no longer name anybody; empty when nobody was known. */
  customer_ids: string[]
  /** Ordinals of the lake. */
  subjects: number[]
  /** Rows, lines and files by where they were. Files, and lines of the log, count for all erased in the same run. */
  removed: Record<string, Record<string, number>>
  erased_in_the_same_run: number
  /** Of this document without this field, as JSON with its keys in alphabetical order and no white space. */
  sha256: string
}

/** Ends an erasure: the certificate stays, the identifiers go. */
export async function certify(
  { postgres }: Pipeline,
  brandId: string,
  { id, requested_by, requested_at, erased_at, customer_ids, subjects }: Begun,
  together: number,
): Promise<void> {
  const { counts } = await postgres.pipeline.one<{ counts: Record<string, number> }>('erasure_counts', [
    brandId,
    id,
  ])
  const completedAt = new Date()
  const document = {
    erasure_id: id,
    brand_id: brandId,
    requested_by,
    requested_at: requested_at.toISOString(),
    erased_at: erased_at.toISOString(),
    completed_at: completedAt.toISOString(),
    customer_ids,
    subjects,
    removed: byStore(counts),
    erased_in_the_same_run: together,
  }
  const certificate: Certificate = { ...document, sha256: digestOf(document) }
  await postgres.pipeline.run('erasure_done', [brandId, id, JSON.stringify(certificate), completedAt])
}

/** A certificate as it comes from the database, which keeps no order, in the order in which it is read. */
export function readable(stored: Certificate): Certificate {
  const { erasure_id, brand_id, requested_by, requested_at, erased_at, completed_at, ...rest } = stored
  const { customer_ids, subjects, removed, erased_in_the_same_run, sha256 } = rest
  const who = { erasure_id, brand_id, requested_by, requested_at, erased_at, completed_at }
  const counts = inOrder(removed) as Certificate['removed']
  return { ...who, customer_ids, subjects, removed: counts, erased_in_the_same_run, sha256 }
}

/** The `sha256` of a certificate. */
export function digestOf({ sha256: _, ...document }: Partial<Certificate>): string {
  return hash('sha256', JSON.stringify(inOrder(document)))
}

const inOrder = (value: unknown): unknown =>
  typeof value !== 'object' || value === null || Array.isArray(value)
    ? value
    : Object.fromEntries(
        Object.entries(value)
          .sort(([one], [other]) => (one < other ? -1 : 1))
          .map(([key, entry]) => [key, inOrder(entry)]),
      )

/** `lake.events` becomes `lake: { events }`, in alphabetical order. */
function byStore(counts: Readonly<Record<string, number>>): Certificate['removed'] {
  const removed: Certificate['removed'] = {}
  for (const key of Object.keys(counts).sort()) {
    const [store = '', what = ''] = key.split('.')
    removed[store] ??= {}
    ;(removed[store] as Record<string, number>)[what] = counts[key] as number
  }
  return removed
}
