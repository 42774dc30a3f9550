import { gathered } from '../../access/gathered.ts'
import type { Lease } from '../../access/lease.ts'
import { remembered } from '../../access/remembered.ts'
import type { Seal } from '../../access/seal.ts'
import type { Statements } from '../../op.ts'
import type { Receiver } from './accept.ts'
import { secretPlace } from './webhook-secret.ts'

/** A provider as its webhook needs it. */
export interface WebhookReceiver extends Receiver {
  isEnabled: boolean
  secret: Buffer | null
  /** The one before, and until when it is taken beside it. */
  former: { secret: Buffer; until: Date } | null
}

/** Receivers by the last part of their webhook URL. */
export interface Receivers {
  /** At once when it was read a moment ago. */
  find(webhookId: string): WebhookReceiver | undefined | Promise<WebhookReceiver | undefined>
  /** Forgets a provider that changed: no call that starts after this sees what was read before it. */
  forget(kind: string, id: string): void
}

interface ReceiverRow {
  lookup_id: string
  brand_id: string
  id: string
  is_enabled: boolean
  webhook_secret: Buffer | null
  former_secret: Buffer | null
  former_until: Date | null
}

/**
 * Read across brands and kept, so many at most, while the lease covers them; only the id says which brand it is.
 * Anybody may ask for any id: whatever is asked meanwhile shares a statement.
 */
export function createReceivers(
  pipeline: Statements,
  seal: Pick<Seal, 'open'>,
  lease?: Lease,
  now = Date.now,
): Receivers {
  const look = gathered<ReceiverRow>(async (webhookIds) => {
    const rows = await pipeline.many<ReceiverRow>('webhook_receivers', [webhookIds])
    return new Map(rows.map((row) => [row.lookup_id, row]))
  })
  const kept = remembered<WebhookReceiver>(
    async (webhookId) => {
      const row = await look(webhookId)
      return row && receiverOf(row, seal)
    },
    now,
    lease,
  )
  return {
    find: (webhookId) => (isWebhookId(webhookId) ? kept.find(webhookId) : undefined),
    forget: (kind, id) => {
      if (kind === 'provider') kept.forget(({ providerId }) => providerId === id)
    },
  }
}

function receiverOf(row: ReceiverRow, seal: Pick<Seal, 'open'>): WebhookReceiver {
  const { id, former_secret: former, former_until: until } = row
  const opened = (secret: Buffer) => seal.open(secret, secretPlace(id))
  return {
    brandId: row.brand_id,
    providerId: id,
    isEnabled: row.is_enabled,
    secret: row.webhook_secret && opened(row.webhook_secret),
    former: former && until && { secret: opened(former), until },
  }
}

/** What cannot be one needs no look-up. */
const isWebhookId = (text: string) => /^[\w-]{1,64}$/.test(text)
