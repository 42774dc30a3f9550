import type { Statements } from '../../op.ts'
import type { Version } from './record.ts'

export type Kind =
  | 'order'
  | 'refund'
  | 'fulfillment'
  | 'customer'
  | 'checkout'
  | 'cart'
  | 'product'
  | 'subscription'

interface Versioned {
  kind: Kind
  externalId: string
  version: Version
  removed?: boolean
}

const keyOf = ({ kind, externalId }: Pick<Versioned, 'kind' | 'externalId'>) => `${kind} ${externalId}`

/** Which of the records are newer than all that was seen of them before. */
export interface Newest {
  /** Never so for one that the store removed. */
  has(kind: Kind, record: { externalId: string; version: Version }): boolean
  /** Also of one that the store removed. */
  describes(kind: Kind, record: { externalId: string; version: Version }): boolean
}

/**
 * Notes the versions and tells the new ones; of several of one record in the list, the newest counts. Removals are
 * noted first.
 */
export async function takeVersions(tx: Statements, all: readonly Versioned[]): Promise<Newest> {
  await take(
    tx,
    all.filter(({ removed }) => removed),
  )
  const latest = new Map<string, Versioned>()
  for (const one of all.filter(({ removed }) => !removed)) {
    const other = latest.get(keyOf(one))
    if (!other || isLater(one.version, other.version)) latest.set(keyOf(one), one)
  }
  const taken = new Map(
    (await take(tx, [...latest.values()])).map(({ kind, external_id, removed }) => [
      keyOf({ kind, externalId: external_id }),
      removed,
    ]),
  )
  const isLatest = (kind: Kind, { externalId, version }: { externalId: string; version: Version }) =>
    latest.get(keyOf({ kind, externalId }))?.version === version
  return {
    has: (kind, record) =>
      taken.get(keyOf({ kind, externalId: record.externalId })) === false && isLatest(kind, record),
    describes: (kind, record) =>
      taken.has(keyOf({ kind, externalId: record.externalId })) && isLatest(kind, record),
  }
}

async function take(tx: Statements, given: readonly Versioned[]) {
  if (given.length === 0) return []
  return await tx.many<{ kind: Kind; external_id: string; removed: boolean }>('store_versions_take', [
    given.map(({ kind }) => kind),
    given.map(({ externalId }) => externalId),
    given.map(({ version }) => version.revision ?? '0'),
    given.map(({ version }) => version.updatedAt),
    given.map(({ version }) => version.triggeredAt),
    // The driver sends arrays of booleans as something else.
    given.map(({ removed }) => String(removed === true)),
  ])
}

function isLater(one: Version, other: Version): boolean {
  const revisions = [one, other].map(({ revision }) => BigInt(revision ?? 0)) as [bigint, bigint]
  if (revisions[0] !== revisions[1]) return revisions[0] > revisions[1]
  if (one.updatedAt !== other.updatedAt) return one.updatedAt > other.updatedAt
  return one.triggeredAt > other.triggeredAt
}
