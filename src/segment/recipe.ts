import { hash } from 'node:crypto'
import { sortedTables } from '../lake/sorted.ts'
import { folderNow, type Model } from '../model/graph.ts'
import { foundBy } from './served-tables.ts'

type Made = readonly Pick<Model, 'name' | 'sql'>[]

const hashes = new WeakMap<Made, string>()

/** Changes with the SQL of any model and of what its rows are found by, and with nothing else. */
export function resultsHash(models: Made): string {
  const known = hashes.get(models) ?? hashOf(models)
  hashes.set(models, known)
  return known
}

const hashOf = (models: Made): string =>
  hash(
    'sha256',
    JSON.stringify([
      ...models.map(({ name, sql }) => [name, sql]),
      ...[...foundBy('customers'), ...sortedTables('serving')].map(({ name, select }) => [name, select]),
    ]),
  )

/**
 * What results are made with now. While a model is broken this differs with every edit, so that refreshes are due and say
 * what is wrong; null when there is no folder of models.
 */
export const currentResults = (): Promise<string | null> =>
  folderNow().then(
    ({ models, broken, fingerprint }) => (broken.size ? `broken ${fingerprint}` : resultsHash(models)),
    () => null,
  )
