import { shownReason } from '../campaign/reason.ts'
import type { CampaignRow } from '../campaign/saved.ts'
import type { Db } from '../op.ts'
import { DAY_MS } from '../time.ts'
import { command, integerOption, text, UsageError } from './command.ts'
import { brand, ofBrand, UUID } from './of-brand.ts'
import { table } from './table.ts'

const DAYS = 30
const MOST_DAYS = 3_650

interface RunsRow {
  campaign_id: string
  campaign_name: string
  /** Of its split; null where there is none, or before it. */
  branch: string | null
  outcome: string
  reason: string | null
  runs: number
}

/** The id of a campaign, given by that or by its exact name. */
async function campaignNamed(db: Db, wanted: string): Promise<string> {
  const all = await db.many<CampaignRow>('campaigns_of_brand', [null, true])
  const found = all.filter(({ id, name }) =>
    UUID.test(wanted) ? id === wanted.toLowerCase() : name === wanted,
  )
  const [one] = found
  if (found.length > 1) throw new UsageError(`--campaign: several are named "${wanted}"; use the id`)
  if (one) return one.id
  const known = all.length ? all.map(({ name }) => `"${name}"`).join(', ') : 'none'
  throw new UsageError(`--campaign: there is no campaign "${wanted}" of this brand. Known: ${known}`)
}

export const campaignCommands = [
  command({
    name: 'campaign list',
    what: 'List the campaigns of a brand, newest first',
    options: { brand, archived: { type: 'boolean', what: 'Archived ones, too' } },
    run: async (run) => {
      const { db } = await ofBrand(run)
      return { data: await db.many<CampaignRow>('campaigns_of_brand', [null, run.values.archived === true]) }
    },
    text: ({ data }) =>
      table(
        ['name', 'type', 'status', 'id'],
        data.map((one) => [one.name, one.type, one.status, one.id]),
      ),
  }),
  command({
    name: 'campaign runs',
    what: 'Count how the journeys of campaigns ended, by branch, and why: whom each rule kept from a message',
    options: {
      brand,
      campaign: { type: 'string', placeholder: 'CAMPAIGN', what: 'Of this one only: its id or name' },
      days: { type: 'string', placeholder: 'N', what: `Begun in the last N days (default ${DAYS})` },
    },
    run: async (run) => {
      const { values } = run
      const days = integerOption(values, 'days', DAYS, 1, MOST_DAYS)
      const { app, brand: its, db } = await ofBrand(run)
      const since = new Date(Date.now() - days * DAY_MS)
      const named = text(values, 'campaign')
      const campaignId = named === undefined ? null : await campaignNamed(db, named)
      // A million journeys may take longer than statements of the brand may.
      const rows = await app.postgres.pipeline.many<RunsRow>('runs_by_reason', [its.id, since, campaignId])
      const data = rows.map((row) => ({ ...row, rule: shownReason(row.reason)?.rule ?? null }))
      return { since: since.toISOString(), data }
    },
    text: ({ since, data }) =>
      data.length === 0
        ? `No journey of a campaign has begun since ${since}.`
        : table(
            ['campaign', 'branch', 'outcome', 'reason', 'runs', 'rule'],
            data.map((one) => [one.campaign_name, one.branch, one.outcome, one.reason, one.runs, one.rule]),
          ),
  }),
]
