import type { Postgres } from './postgres.ts'

/** Why Postgres takes no writes, in words; null when it takes them. */
export async function readOnlyReason({ pipeline }: Pick<Postgres, 'pipeline'>): Promise<string | null> {
  const { refuses_writes, is_standby } = await pipeline.one<{ refuses_writes: boolean; is_standby: boolean }>(
    'status_writes',
  )
  if (is_standby) return 'takes no writes, as a standby: set DATABASE_URL to the primary, or promote it'
  return refuses_writes ? 'takes no writes: default_transaction_read_only is on' : null
}
