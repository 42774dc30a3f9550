import { serviceSeal } from '../access/service-seal.ts'
import { connectStore } from '../connect/store/connect.ts'
import { connectionOf } from '../connect/store/connection.ts'
import { createReceiver } from '../connect/store/receive.ts'
import { backfill, reconcile, type SyncOptions, syncStates, type Walked } from '../connect/store/sync.ts'
import { webhookPath } from '../connect/store/webhook-address.ts'
import { isThisMachine } from '../connect/this-machine.ts'
import { fail } from '../errors.ts'
import {
  command,
  fileOption,
  integerOption,
  type Option,
  type Run,
  text,
  UsageError,
  type Values,
} from './command.ts'
import { dataRequestCommands } from './data-request.ts'
import { brand, ofBrand } from './of-brand.ts'
import { table } from './table.ts'

const CREDENTIALS: Option = {
  type: 'string',
  required: true,
  placeholder: 'FILE',
  what: 'JSON with access_token (Admin API) and webhook_secret (the app’s secret); - for standard input',
}

export const ABANDONED_AFTER: Option = {
  type: 'string',
  placeholder: 'MINUTES',
  what: 'A checkout without activity for so long is abandoned (5 to 10080; 60 at first)',
}
/** Undefined: it stays as it is. */
export const abandonedAfter = (values: Values): number | undefined =>
  integerOption(values, 'abandoned-after', 0, 5, 10_080) || undefined

async function opened(run: Run) {
  const parts = await ofBrand(run)
  return { ...parts, seal: await serviceSeal(parts.app) }
}

async function connected(run: Run) {
  const parts = await opened(run)
  const connection = await connectionOf(parts.db, parts.seal)
  if (!connection)
    throw fail('integration_not_connected', 'No store is connected to this brand: recoup store connect')
  return { ...parts, connection }
}

async function credentialsOf(values: Values): Promise<{ accessToken: string; webhookSecret: string }> {
  const content = await fileOption(values, 'credentials')
  let given: { access_token?: unknown; webhook_secret?: unknown } | null = null
  try {
    given = JSON.parse(content)
  } catch {
    // Said below, without a word of what is in it.
  }
  const { access_token, webhook_secret } = given ?? {}
  if (
    typeof access_token !== 'string' ||
    typeof webhook_secret !== 'string' ||
    !access_token ||
    !webhook_secret
  )
    throw new UsageError('--credentials must be JSON such as {"access_token": "…", "webhook_secret": "…"}')
  return { accessToken: access_token, webhookSecret: webhook_secret }
}

/** Written as a person may: in capitals, with its usual port, with a slash behind it. */
function apiOriginOf(values: Values): string | undefined {
  const given = text(values, 'api-origin')
  if (given === undefined) return undefined
  const url = URL.parse(given)
  if (url?.protocol === 'http:' && !isThisMachine(url.hostname))
    throw new UsageError(
      `--api-origin must begin with https://, not "${given}": the access token would go over the network for all to read`,
    )
  if (url && /^https?:$/.test(url.protocol) && url.href === `${url.origin}/`) return url.origin
  throw new UsageError(
    `--api-origin must be an origin such as https://my-shop.myshopify.com, without a path, not "${given}"`,
  )
}

async function walked(run: Run, title: string, walk: (options: SyncOptions) => Promise<Walked[]>) {
  const { app, db, connection } = await connected(run)
  let shown: { entity: string; progress: ReturnType<Run['progress']> } | undefined
  const data = await walk({
    db,
    connection,
    storePlatformDomain: app.config.storePlatformDomain,
    onProgress: (entity, done, total) => {
      if (shown?.entity !== entity) {
        shown?.progress.end()
        shown = { entity, progress: run.progress(`${title} ${entity}`) }
      }
      shown.progress.update(done, total)
    },
  })
  shown?.progress.end()
  return { data }
}

const walkText = ({ data }: { data: Walked[] }) =>
  data
    .map(({ entity, read, skipped }) => `${entity} ${skipped === undefined ? read : `left out: ${skipped}`}`)
    .join('\n')

export const storeCommands = [
  command({
    name: 'store connect',
    what: 'Connect a brand to its live store, or renew the connection; has the store send its webhooks',
    options: {
      brand,
      credentials: CREDENTIALS,
      'api-origin': {
        type: 'string',
        placeholder: 'URL',
        what: 'Where the Admin API is (default: the shop’s domain)',
      },
      'abandoned-after': ABANDONED_AFTER,
      'no-webhooks': { type: 'boolean', what: 'Leave it to yourself to have webhooks sent' },
    },
    run: async (run) => {
      const { values } = run
      const abandonedAfterMinutes = abandonedAfter(values)
      const apiOrigin = apiOriginOf(values)
      const { app, brand: found, seal } = await opened(run)
      const { webhookUrl } = app.config
      const answer = await connectStore({
        postgres: app.postgres,
        seal,
        brand: found,
        ...(await credentialsOf(values)),
        apiOrigin,
        abandonedAfterMinutes,
        webhookUrl,
        subscribes: values['no-webhooks'] !== true,
      })
      return { ...answer, webhook_url: `${webhookUrl}${webhookPath('shopify')}` }
    },
    text: ({ shop_domain, scopes, webhooks, webhook_url, notes }) =>
      [
        `Connected to ${shop_domain}; scopes: ${scopes.join(', ') || 'unknown'}`,
        webhooks
          ? `Webhooks of ${webhooks.topics.length} topics go to ${webhook_url}`
          : `Have webhooks sent to ${webhook_url}`,
        ...(webhooks?.refused ?? []).map(({ topic, reason }) => `Not sent: ${topic} (${reason})`),
        ...notes,
        'Next: recoup store backfill',
      ].join('\n'),
  }),
  command({
    name: 'store backfill',
    what: 'Read the history of the connected store; goes on where it was when it is killed',
    options: {
      brand,
      again: { type: 'boolean', what: 'Read it once more, such as after the store granted another scope' },
    },
    run: (run) =>
      walked(run, 'backfill', (options) => backfill({ ...options, again: run.values.again === true })),
    text: walkText,
  }),
  command({
    name: 'store reconcile',
    what: 'Read what changed in the connected store since the last time; the worker does it hourly',
    options: { brand },
    run: (run) => walked(run, 'reconcile', reconcile),
    text: walkText,
  }),
  command({
    name: 'store status',
    what: 'Show the connection, its walks, and webhooks that could not be read',
    options: { brand },
    run: async (run) => {
      const { db, connection } = await connected(run)
      const { brandId, id, platform, shopDomain, scopes, status, error, connectedAt, abandonedAfterMinutes } =
        connection
      return {
        brand_id: brandId,
        id,
        platform,
        shop_domain: shopDomain,
        status,
        error,
        scopes,
        connected_at: connectedAt,
        abandoned_after_minutes: abandonedAfterMinutes,
        ...(await db.one('store_status')),
        walks: await syncStates(db),
        dead_letters: await db.many<DeadLetter>('store_dead'),
      }
    },
    text: ({ walks, dead_letters, ...status }) =>
      [
        table(
          ['setting', 'value'],
          Object.entries(status).map(([name, value]) => [
            name,
            Array.isArray(value) ? value.join(',') : value,
          ]),
        ),
        table(
          ['walk', 'records', 'done', 'of', 'started at', 'finished at'],
          walks.map((walk) => [
            walk.purpose,
            walk.entity,
            walk.done,
            walk.total,
            walk.started_at,
            walk.finished_at,
          ]),
        ),
        table(
          ['webhook', 'topic', 'received at', 'reason'],
          dead_letters.map((row) => [row.webhook_id, row.topic, row.received_at, row.reason]),
        ),
      ].join('\n\n'),
  }),
  command({
    name: 'store replay',
    what: 'Try webhooks again that could not be read',
    options: { brand },
    run: async (run) => {
      const { app, seal, connection } = await connected(run)
      const { storePlatformDomain } = app.config
      return await createReceiver({ postgres: app.postgres, seal, storePlatformDomain }).replay(connection)
    },
    text: ({ applied, dead }) => `applied ${applied}, still dead ${dead}`,
    fails: ({ dead }) => dead > 0,
  }),
  ...dataRequestCommands,
]

interface DeadLetter {
  webhook_id: string
  topic: string
  triggered_at: Date
  received_at: Date
  reason: string
}
