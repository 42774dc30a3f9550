import type { Statements } from '../../op.ts'
import type { Version } from './record.ts'

export type Kind = 'order' | 'fulfillment' | 'customer' | 'checkout' | 'cart' | 'product' | 'subscription'

interface Versioned {
  kind: Kind
  externalId: string
  version: Version
  removed?: boolean
}

const keyOf = ({ kind, externalId }: Pick<Versioned, 'kind' | 'externalId'>) => `${kind} ${externalId}`

/** Which of the records are newer than all that was seen of them before. */
export interface Newest {
  has(kind: Kind, record: { externalId: string; version: Version }): boolean
}

/** Notes the versions and tells the new ones; of several of one record in the list, the newest counts. */
export async function takeVersions(tx: Statements, all: readonly Versioned[]): Promise<Newest> {
  const latest = new Map<string, Versioned>()
  for (const one of all) {
    const other = latest.get(keyOf(one))
    if (!other || (!other.removed && (one.removed || isLater(one.version, other.version))))
      latest.set(keyOf(one), one)
  }
  const given = [...latest.values()]
  const rows = given.length
    ? await tx.many<{ kind: Kind; external_id: string }>('store_versions_take', [
        given.map(({ kind }) => kind),
        given.map(({ externalId }) => externalId),
        given.map(({ version }) => version.revision ?? '0'),
        given.map(({ version }) => version.updatedAt),
        given.map(({ version }) => version.triggeredAt),
        given.map(({ removed }) => String(removed === true)),
      ])
    : []
  const taken = new Set(rows.map(({ kind, external_id }) => keyOf({ kind, externalId: external_id })))
  return {
    has: (kind, { externalId, version }) => {
      const key = keyOf({ kind, externalId })
      return taken.has(key) && latest.get(key)?.version === version
    },
  }
}

function isLater(one: Version, other: Version): boolean {
  const revisions = [one, other].map(({ revision }) => BigInt(revision ?? 0)) as [bigint, bigint]
  if (revisions[0] !== revisions[1]) return revisions[0] > revisions[1]
  if (one.updatedAt !== other.updatedAt) return one.updatedAt > other.updatedAt
  return one.triggeredAt > other.triggeredAt
}
