import { fail } from '../errors.ts'
import type { Db, Statements } from '../op.ts'
import type { Source } from './resolve.ts'
import { settle } from './settle.ts'
import type { Ask } from './subject.ts'

/** A row of the ledger, with public ids. */
export interface MergeRow {
  id: string
  merged_at: Date
  from_id: string
  to_id: string
  /** Whom both answer as now; null when the merge is undone. */
  customer_id: string | null
  evidence: { kind: string; source: Source }
  undone_at: Date | null
  undone_by: string | null
}

export interface MergeInFull extends MergeRow {
  from_subject: number
  to_subject: number
  /** `from` is a visitor: no customer but a browser's history moved. */
  is_visitor: boolean
  /** The identifiers that the evidence is about, as long as they are known. */
  values: string[]
  barred: boolean
}

/** An identifier of so many customers that it joins nobody. */
export interface SharedIdentifier {
  kind: string
  value: string
  /** Ids of those who have it; no more than it takes to call it shared. */
  customer_ids: string[]
}

/** The newest rows of the ledger; of one customer, by any id that it ever had, when one is given. */
export const listMerges = (db: Statements, limit: number, customerId?: string): Promise<MergeRow[]> =>
  db.many<MergeRow>('merges_newest', [limit, customerId ?? null])

export const sharedIdentifiers = (db: Statements): Promise<SharedIdentifier[]> =>
  db.many<SharedIdentifier>('shared_identifiers')

/** One row of the ledger; throws `not_found`. */
export async function mergeOf(db: Statements, id: string): Promise<MergeInFull> {
  const merge = await db.maybe<MergeInFull>('merge_by_id', [id])
  if (!merge) throw fail('not_found', 'There is no such merge.')
  return merge
}

/**
 * Takes two profiles apart and keeps them apart, whatever is said of them later. What else joins the customers of either
 * still does; events, orders and visitors are whose they were sent for, with the next tick. Throws `conflict` when it is
 * undone already.
 *
 * Contacts name a profile as it was sent, so that they follow redirects there and back.
 */
export async function undoMerge(db: Db, id: string, by: string): Promise<MergeInFull> {
  return await db.tx(async (tx) => {
    const ask: Ask = (name, args) => tx.many(name, args)
    await ask('identity_lock')
    const merge = await mergeOf(tx, id)
    if (merge.undone_at) throw fail('conflict', `The merge was undone already (${merge.undone_by}).`)
    await tx.run('merge_bar', [id])
    if (merge.is_visitor) {
      await tx.run('merges_end', [[id], by])
      await tx.run('redirects_end', [[merge.from_subject]])
    } else await settle(ask, [merge.from_subject, merge.to_subject], (edge) => edge.id === id, by)
    return await mergeOf(tx, id)
  })
}
