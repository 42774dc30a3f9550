import { answerDataRequest, dataRequests } from '../connect/store/data-request.ts'
import { command, UsageError } from './command.ts'
import { brand, ofBrand, UUID } from './of-brand.ts'
import { table } from './table.ts'

export const dataRequestCommands = [
  command({
    name: 'store data-requests',
    what: 'List what shoppers asked to see of their data',
    options: { brand },
    run: async (run) => {
      const { app, brand: found } = await ofBrand(run)
      return { data: await dataRequests(app.pipeline, found.id) }
    },
    text: ({ data }) =>
      table(
        ['id', 'store customer', 'requested at', 'answered at'],
        data.map((row) => [row.id, row.store_customer_id, row.requested_at, row.answered_at]),
      ),
  }),
  command({
    name: 'store data-request',
    arguments: ['ID'],
    what: 'Print all that is stored of the shopper who asked, as JSON, and note the request as answered',
    options: { brand },
    run: async (run) => {
      const [id] = run.positionals
      if (!UUID.test(id))
        throw new UsageError(`"${id}" is not the id of a request: recoup store data-requests shows it`)
      const { app, brand: found } = await ofBrand(run)
      return await answerDataRequest(app.pipeline, found, id)
    },
    text: (data) => JSON.stringify(data, null, 2),
  }),
]
