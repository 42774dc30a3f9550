import { randomBytes } from 'node:crypto'
import { v7 } from 'uuid'
import { createKey } from '../../access/key.ts'
import { fail, isUniqueViolation, noSuchRecord } from '../../errors.ts'
import { parseExactly } from '../../event/exact.ts'
import type { Db, Sealing, Statements } from '../../op.ts'
import { insertDefinition, type Renamed } from './definitions.ts'
import { changedSettings, checkChange, checkSettings, renamedSettings, type Settings } from './settings.ts'
import { KEY, KEY_SAYS, keyOf, refuseReservedKey } from './slug.ts'
import { templateOf } from './templates.ts'
import { makeWebhookSecret, sealSecret } from './webhook-secret.ts'

const MOST_PROVIDERS = 25

/** A custom data source as the API shows it: without credentials. */
export interface Provider {
  id: string
  key: string
  name: string
  lookup_id: string
  source_template_key: string | null
  is_enabled: boolean
  settings: Settings
}

export interface NewProvider {
  name: string
  key?: string
  source_template_key?: string
  is_enabled?: boolean
  settings?: Settings
}

/** What is shown once. */
export interface Credentials {
  api_key: string | null
  webhook_secret: string
  webhook_url: string
}

export interface Making {
  seal: Sealing
  /** Public origin of the webhook receiver. */
  webhookUrl: string
  /** Whether the caller may be given a key of its own for the provider. */
  withKey: boolean
}

/** `settings` as text: read as JSON, they would lose digits. */
type ProviderRow = Omit<Provider, 'settings'> & { settings: string; created_at: Date }

const KEY_SCOPES = ['providers:read', 'providers:write']

const settingsOf = ({ settings }: Pick<ProviderRow, 'settings'>) => parseExactly(settings) as Settings

const shown = ({ created_at: _, ...row }: ProviderRow): Provider => ({ ...row, settings: settingsOf(row) })

/** Makes a provider, with the event definitions of its template. Fails with bad_request, conflict or limit_reached. */
export async function createProvider(
  db: Db,
  provider: NewProvider,
  { seal, webhookUrl, withKey }: Making,
): Promise<Provider & Credentials> {
  const key = checkedKey(provider)
  const settings = provider.settings ?? {}
  checkSettings(settings)
  const template =
    provider.source_template_key === undefined ? null : templateOf(provider.source_template_key)
  refuseReservedKey(key)
  const [id, lookupId, secret] = [v7(), randomBytes(18).toString('base64url'), makeWebhookSecret()]
  try {
    return await db.tx(async (tx) => {
      await refuseTooMany(tx)
      const row = await tx.one<ProviderRow>('provider_insert', [
        id,
        key,
        provider.name,
        lookupId,
        template?.key ?? null,
        provider.is_enabled ?? true,
        JSON.stringify(settings),
        sealSecret(seal, id, secret),
      ])
      for (const definition of template?.event_definitions ?? [])
        await insertDefinition(tx, id, definition, template?.key)
      const made = withKey
        ? await createKey(tx, { scopes: KEY_SCOPES, keyClass: 'brand-api', name: `Provider ${key}` })
        : null
      return {
        ...shown(row),
        api_key: made?.plaintext ?? null,
        webhook_secret: secret,
        webhook_url: webhookUrlOf(webhookUrl, lookupId),
      }
    })
  } catch (error) {
    if (!isUniqueViolation(error)) throw error
    throw fail('conflict', `key: a provider "${key}" exists already: send another key`, { cause: error })
  }
}

export const webhookUrlOf = (origin: string, lookupId: string): string => `${origin}/custom/${lookupId}`

function checkedKey({ key, name }: NewProvider): string {
  const made = key ?? keyOf(name)
  if (!KEY.test(made)) throw fail('bad_request', `key ${KEY_SAYS}`)
  return made
}

async function refuseTooMany(tx: Statements): Promise<void> {
  await tx.one('providers_lock')
  const { count } = await tx.one<{ count: number }>('providers_count')
  if (count >= MOST_PROVIDERS)
    throw fail('limit_reached', `A brand has at most ${MOST_PROVIDERS} providers, and this one has them all`)
}

/** All providers of the brand, oldest first. */
export const listProviders = async (db: Statements): Promise<Provider[]> =>
  (await db.many<ProviderRow>('providers_of_brand')).map(shown)

export const getProvider = async (db: Statements, id: string): Promise<Provider> =>
  shown(await db.one<ProviderRow>('provider_by_id', [id]))

export interface ProviderChange {
  name?: string
  is_enabled?: boolean
  settings?: Settings
}

/** Changes what is given; settings are merged into those that there are. */
export async function updateProvider(db: Db, id: string, change: ProviderChange): Promise<Provider> {
  checkChange(change.settings ?? {})
  return await db.tx(async (tx) => {
    const before = await tx.one<ProviderRow>('provider_for_change', [id])
    const settings = changedSettings(settingsOf(before), change.settings ?? {})
    // A type with a longer name can have made them larger than anyone may send.
    if (change.settings) checkSettings(settings)
    const name = change.name ?? before.name
    const enabled = change.is_enabled ?? before.is_enabled
    return shown(await tx.one<ProviderRow>('provider_update', [id, name, enabled, JSON.stringify(settings)]))
  })
}

/** Gives an event type its new name in the matching rules of its provider. */
export async function renameEventInSettings(
  tx: Statements,
  { from, to, providerId }: Renamed,
): Promise<void> {
  const row = await tx.one<ProviderRow>('provider_for_change', [providerId])
  const settings = JSON.stringify(renamedSettings(settingsOf(row), from, to))
  if (settings !== row.settings)
    await tx.one('provider_update', [providerId, row.name, row.is_enabled, settings])
}

/**
 * Gives a provider a new webhook secret; its webhook URL stays. The one before ends with this, or so many hours later; one that
 * was kept before it ends now.
 */
export async function rotateSecret(
  db: Statements,
  id: string,
  seal: Sealing,
  keepHours: number,
): Promise<string> {
  const secret = makeWebhookSecret()
  const changed = await db.run('provider_set_secret', [id, sealSecret(seal, id, secret), keepHours])
  if (changed === 0) throw noSuchRecord()
  return secret
}
