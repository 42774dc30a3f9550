import type { CampaignRow } from '../campaign/saved.ts'
import { command } from './command.ts'
import { brand, ofBrand } from './of-brand.ts'
import { table } from './table.ts'

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
]
