import type { Seal } from '../access/seal.ts'
import { serviceSeal } from '../access/service-seal.ts'
import type { App } from '../app.ts'
import { filledWith } from '../connect/demo/filled.ts'
import { isDemoStore, runDemoStore } from '../connect/demo/store/run.ts'
import { connectionOf } from '../connect/store/connection.ts'
import { fail } from '../errors.ts'
import type { Brand } from '../op.ts'
import { command, integerOption } from './command.ts'
import { checkEmpty } from './demo-brand.ts'
import { brand, ofBrand } from './of-brand.ts'
import { ABANDONED_AFTER, abandonedAfter } from './store.ts'

const HISTORY = 1_000
const EVERY_MS = 1_000

/** Fails with conflict for a brand that has a store or data, unless these are a demo's. */
async function checkMayFollow(app: App, seal: Seal, brand: Brand): Promise<void> {
  const connection = await connectionOf(app.postgres.forBrand(brand.id), seal)
  if (connection && !isDemoStore(connection))
    throw fail(
      'conflict',
      `The brand is connected to ${connection.shopDomain}: a demo store needs a brand of its own (recoup brand create).`,
    )
  if (!connection && !filledWith(app.config, brand.id)) await checkEmpty(app, brand)
}

export const demoStoreCommands = [
  command({
    name: 'demo store',
    what: 'Connect an empty or a demo brand to a fake store on this machine, which lives and sends webhooks until Ctrl-C',
    options: {
      brand,
      history: {
        type: 'string',
        placeholder: 'N',
        what: `Steps of its life before now (default ${HISTORY})`,
      },
      'abandoned-after': ABANDONED_AFTER,
      every: { type: 'string', placeholder: 'MS', what: `Pause between its steps (default ${EVERY_MS})` },
    },
    stops: true,
    run: async (run) => {
      const { values, stop } = run
      const history = integerOption(values, 'history', HISTORY, 0, 100_000)
      const everyMs = integerOption(values, 'every', EVERY_MS, 0, 3_600_000)
      const abandonedAfterMinutes = abandonedAfter(values)
      const { app, brand: found } = await ofBrand(run)
      const seal = await serviceSeal(app)
      await checkMayFollow(app, seal, found)
      const { storePlatformDomain, webhookUrl } = app.config
      let sent = 0
      await runDemoStore({
        postgres: app.postgres,
        seal,
        brand: found,
        storePlatformDomain,
        webhookUrl,
        history,
        everyMs,
        abandonedAfterMinutes,
        signal: stop.signal,
        onStep: (count) => {
          sent += count
          process.stderr.write(`webhooks sent: ${sent}\n`)
        },
      })
      return { webhooks_sent: sent }
    },
    text: ({ webhooks_sent }) => `Sent ${webhooks_sent} webhooks.`,
  }),
]
