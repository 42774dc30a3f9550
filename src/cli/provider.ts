import { serviceSeal } from '../access/service-seal.ts'
import {
  createProvider,
  listProviders,
  type Provider,
  rotateSecret,
  updateProvider,
  webhookUrlOf,
} from '../connect/custom/providers.ts'
import { keyOf } from '../connect/custom/slug.ts'
import { sourceTemplates } from '../connect/custom/templates.ts'
import { command, integerOption, type Run, required, text, UsageError } from './command.ts'
import { everywhere } from './everywhere.ts'
import { brand, ofBrand } from './of-brand.ts'
import { table } from './table.ts'

const provider = {
  type: 'string',
  required: true,
  placeholder: 'PROVIDER',
  what: 'Id, key, or last part of the webhook URL',
} as const

async function providerOf(run: Run) {
  const { db } = await ofBrand(run)
  const wanted = required(run.values, 'provider')
  const found = await db.maybe<Provider>('provider_named', [wanted])
  if (found) return { db, found }
  const known =
    (await listProviders(db)).map(({ key }) => key).join(', ') || 'none yet: recoup provider create'
  throw new UsageError(`--provider: there is no provider "${wanted}" of this brand. Known: ${known}`)
}

/** Turns a provider on or off; one that is so already stays so. */
const switching = (name: string, isEnabled: boolean, what: string) =>
  command({
    name: `provider ${name}`,
    what,
    options: { brand, provider },
    run: async (run) => {
      const { db, found } = await providerOf(run)
      const provider = await updateProvider(db, found.id, { is_enabled: isEnabled })
      await everywhere(await run.app())
      return provider
    },
    text: ({ key }) => `Provider ${key} is ${name}d`,
  })

/** A week. */
const MOST_KEPT_HOURS = 168

export const providerCommands = [
  command({
    name: 'provider create',
    what: 'Make a custom data source; its webhook secret is shown this once',
    options: {
      brand,
      name: { type: 'string', required: true, placeholder: 'NAME', what: 'What it is called' },
      key: {
        type: 'string',
        placeholder: 'KEY',
        what: 'Name of it in rules and code (default: made of --name)',
      },
      template: {
        type: 'string',
        placeholder: 'TEMPLATE',
        what: 'Make the event definitions of a template too: see `recoup provider templates`',
      },
      'if-missing': { type: 'boolean', what: 'Leave a provider of that key as it is' },
    },
    run: async (run) => {
      const { config, values } = run
      const name = required(values, 'name')
      const key = text(values, 'key')
      const { app, db } = await ofBrand(run)
      const wanted = key ?? keyOf(name)
      const known = await db.maybe<Provider>('provider_named', [wanted])
      if (known && values['if-missing'])
        return { ...known, webhook_url: webhookUrlOf(config.webhookUrl, known.lookup_id) }
      const seal = await serviceSeal(app)
      if (known)
        throw new UsageError(
          `--key: a provider "${wanted}" exists already: give another --key, or --if-missing to leave it as it is`,
        )
      const { api_key: _, ...made } = await createProvider(
        db,
        { name, key, source_template_key: text(values, 'template') },
        { seal, webhookUrl: config.webhookUrl, withKey: false },
      )
      return made
    },
    text: ({ key, webhook_url, ...made }: Provider & { webhook_url: string; webhook_secret?: string }) =>
      made.webhook_secret === undefined
        ? `Provider ${key} exists already: ${webhook_url}`
        : `Provider ${key}\nwebhook URL     ${webhook_url}\nwebhook secret  ${made.webhook_secret}\n\nKeep the secret now: it is not shown again.`,
  }),
  command({
    name: 'provider list',
    what: 'List the custom data sources of a brand with their webhook URLs',
    options: { brand },
    run: async (run) => ({
      data: (await listProviders((await ofBrand(run)).db)).map((one) => ({
        ...one,
        webhook_url: webhookUrlOf(run.config.webhookUrl, one.lookup_id),
      })),
    }),
    text: ({ data }) =>
      table(
        ['key', 'name', 'enabled', 'template', 'webhook_url', 'id'],
        data.map((one) => [
          one.key,
          one.name,
          one.is_enabled ? 'yes' : 'no',
          one.source_template_key,
          one.webhook_url,
          one.id,
        ]),
      ),
  }),
  switching('enable', true, 'Let a custom data source deliver again'),
  switching('disable', false, 'Refuse the deliveries of a custom data source'),
  command({
    name: 'provider rotate-secret',
    what: 'Replace the webhook secret of a custom data source; its webhook URL stays',
    options: {
      brand,
      provider,
      'keep-hours': {
        type: 'string',
        placeholder: 'N',
        what: 'Take the one before as well for so long, until its senders have the new one (default 0: it ends at once)',
      },
    },
    run: async (run) => {
      const kept_hours = integerOption(run.values, 'keep-hours', 0, 0, MOST_KEPT_HOURS)
      const { db, found } = await providerOf(run)
      const secret = await rotateSecret(db, found.id, await serviceSeal(await run.app()), kept_hours)
      await everywhere(await run.app())
      return {
        id: found.id,
        key: found.key,
        webhook_secret: secret,
        webhook_url: webhookUrlOf(run.config.webhookUrl, found.lookup_id),
        kept_hours,
      }
    },
    text: ({ key, webhook_secret, kept_hours }) =>
      `${webhook_secret}\n\nThe webhook secret of ${key}. Keep it now: it is not shown again, and the one before is refused${kept_hours ? ` in ${kept_hours} hours` : ''}.`,
  }),
  command({
    name: 'provider templates',
    what: 'List the source templates with the event types that each makes',
    options: {},
    run: async () => ({
      data: [...sourceTemplates().values()].map(({ event_definitions, ...template }) => ({
        ...template,
        event_types: event_definitions.map(({ type }) => type),
      })),
    }),
    text: ({ data }) =>
      table(
        ['template', 'event types', 'what'],
        data.map((one) => [one.key, one.event_types.join(', '), one.description]),
      ),
  }),
]
