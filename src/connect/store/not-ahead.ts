import type { Batch, ConsentRecord, Version } from './record.ts'

/** What two clocks that are kept may differ by. */
const SKEW_MS = 5 * 60_000

/**
 * The batch without a version or a consent ahead of when it came: of these the newest counts, so that one of 2099 would
 * keep out all that is true, and every later STOP. `cameAt` is ISO 8601, as all times here.
 */
export function notAhead(batch: Batch, cameAt: string): Batch {
  const earlier = (time: string) => earliest(time, cameAt)
  const versioned = <Record extends { version: Version }>(records: readonly Record[]): Record[] =>
    records.map((record) => {
      const { version } = record
      const [updatedAt, triggeredAt] = [earlier(version.updatedAt), earlier(version.triggeredAt)]
      return { ...record, version: { ...version, updatedAt, triggeredAt } }
    })
  return {
    orders: versioned(batch.orders),
    refunds: versioned(batch.refunds),
    fulfillments: versioned(batch.fulfillments),
    customers: versioned(batch.customers),
    consents: batch.consents.map((consent) => ({ ...consent, ...decided(consent, cameAt) })),
    checkouts: versioned(batch.checkouts),
    carts: versioned(batch.carts),
    products: versioned(batch.products),
    subscriptions: versioned(batch.subscriptions).map((one) => ({
      ...one,
      changedAt: earlier(one.changedAt),
    })),
    removals: versioned(batch.removals),
  }
}

const earliest = (time: string, other: string): string => (time < other ? time : other)

/** A time far ahead is none: each version would say it anew, as decided when that came, behind a STOP between them. */
function decided(
  { at, undatedAt, undated }: ConsentRecord,
  cameAt: string,
): Pick<ConsentRecord, 'at' | 'undatedAt' | 'undated'> {
  const isNone = Date.parse(at) > Date.parse(cameAt) + SKEW_MS
  const saidAt = undatedAt ?? (isNone ? cameAt : null)
  return {
    at: earliest(at, cameAt),
    undatedAt: saidAt && earliest(saidAt, cameAt),
    undated: undated || isNone ? true : undefined,
  }
}
