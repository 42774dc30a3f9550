import { createKey, listKeys } from '../access/key.ts'
import { brandOf } from './brand.ts'
import { command, required, text } from './command.ts'
import { table } from './table.ts'

const brand = { type: 'string', required: true, placeholder: 'BRAND', what: 'Id, shop or name' } as const

export const keyCommands = [
  command({
    name: 'key create',
    what: 'Make an API key; its value is shown this once',
    options: {
      brand,
      scopes: { type: 'string', required: true, placeholder: 'A,B', what: 'Scopes, separated by commas' },
      name: { type: 'string', placeholder: 'NAME', what: 'What the key is for' },
    },
    run: async ({ app: open, values }) => {
      const app = await open()
      const { id } = await brandOf(app, required(values, 'brand'))
      const scopes = required(values, 'scopes')
        .split(',')
        .map((scope) => scope.trim())
      return await createKey(app.postgres.forBrand(id), { scopes, name: text(values, 'name') })
    },
    text: ({ id, plaintext, scopes }) =>
      `${plaintext}\n\nKey ${id} with ${scopes.join(', ')}. Keep it now: it is not shown again.`,
  }),
  command({
    name: 'key list',
    what: 'List the API keys of a brand',
    options: { brand },
    run: async ({ app: open, values }) => {
      const app = await open()
      const { id } = await brandOf(app, required(values, 'brand'))
      return { data: await listKeys(app.postgres.forBrand(id)) }
    },
    text: ({ data }) =>
      table(
        ['id', 'key_prefix', 'scopes', 'created_at', 'last_used_at', 'revoked_at'],
        data.map((key) => [
          key.id,
          key.key_prefix,
          key.scopes.join(','),
          key.created_at,
          key.last_used_at,
          key.revoked_at,
        ]),
      ),
  }),
]
