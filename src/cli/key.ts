import { createKey, listNamedKeys, type NamedKey, revokeKey } from '../access/key.ts'
import { KEY_SCOPES } from '../access/scopes.ts'
import { command, type Run, required, text, UsageError } from './command.ts'
import { everywhere } from './everywhere.ts'
import { brand, ofBrand } from './of-brand.ts'
import { table } from './table.ts'

/** The active key that --key means. */
async function keyOf(run: Run) {
  const { app, db } = await ofBrand(run)
  const wanted = required(run.values, 'key')
  const active = (await listNamedKeys(db)).filter(({ revoked_at }) => revoked_at === null)
  const means = ({ id, key_prefix, name }: NamedKey) => [id, key_prefix, name].includes(wanted)
  const [found, another] = active.filter(means)
  if (another) throw new UsageError(`--key: several keys are named "${wanted}"; use the id`)
  if (found) return { app, db, found }
  const known = active.map(({ id, key_prefix, name }) => `${name ?? key_prefix} (${id})`).join(', ')
  throw new UsageError(
    `--key: there is no active key "${wanted}" of this brand. Known: ${known || 'none: recoup key create'}`,
  )
}

export const keyCommands = [
  command({
    name: 'key create',
    what: 'Make an API key; its value is shown this once',
    options: {
      brand,
      scopes: {
        type: 'string',
        required: true,
        placeholder: 'A,B',
        what: `Scopes, separated by commas: ${KEY_SCOPES.join(', ')}`,
      },
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
    run: async (run) => ({ data: await listNamedKeys((await ofBrand(run)).db) }),
    text: ({ data }) =>
      table(
        ['id', 'name', 'key_prefix', 'scopes', 'created_at', 'last_used_at', 'revoked_at'],
        data.map((key) => [
          key.id,
          key.name,
          key.key_prefix,
          key.scopes.join(','),
          key.created_at,
          key.last_used_at,
          key.revoked_at,
        ]),
      ),
  }),
  command({
    name: 'key revoke',
    what: 'Revoke an API key at once, in all running servers',
    options: {
      brand,
      key: { type: 'string', required: true, placeholder: 'KEY', what: 'Id, prefix or name' },
    },
    run: async (run) => {
      const { app, db, found } = await keyOf(run)
      const revoked = await revokeKey(db, found.id)
      await everywhere(app)
      return { ...revoked, name: found.name }
    },
    text: ({ id, key_prefix }) => `Key ${id} (${key_prefix}…) is revoked`,
  }),
]
