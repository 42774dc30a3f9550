import { createKey, listKeys } from '../access/key.ts'
import { KEY_SCOPES } from '../access/scopes.ts'
import { command, required, text, UsageError } from './command.ts'
import { brand, ofBrand } from './of-brand.ts'
import { table } from './table.ts'

export const keyCommands = [
  command({
    name: 'key create',
    what: 'Make an API key; its value is shown this once',
    options: {
      brand,
      scopes: { type: 'string', required: true, placeholder: 'A,B', what: 'Scopes, separated by commas' },
      name: { type: 'string', placeholder: 'NAME', what: 'What the key is for' },
    },
    run: async (run) => {
      const { values } = run
      const { db } = await ofBrand(run)
      const scopes = required(values, 'scopes')
        .split(',')
        .map((scope) => scope.trim())
      const wrong = scopes.find((scope) => !KEY_SCOPES.some((known) => known === scope))
      if (wrong !== undefined)
        throw new UsageError(
          `--scopes: "${wrong}" is not a scope that a key can carry. Known: ${KEY_SCOPES.join(', ')}`,
        )
      return await createKey(db, { scopes, name: text(values, 'name') })
    },
    text: ({ id, plaintext, scopes }) =>
      `${plaintext}\n\nKey ${id} with ${scopes.join(', ')}. Keep it now: it is not shown again.`,
  }),
  command({
    name: 'key list',
    what: 'List the API keys of a brand',
    options: { brand },
    run: async (run) => ({ data: await listKeys((await ofBrand(run)).db) }),
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
