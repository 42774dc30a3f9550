import { hash } from 'node:crypto'
import { sortedTables } from '../lake/sorted.ts'
import type { Model } from '../model/graph.ts'
import { foundBy } from './served-tables.ts'

/** Changes with the SQL of any model and of what its rows are found by, and with nothing else. */
export const resultsHash = (models: readonly Pick<Model, 'name' | 'sql'>[]): string =>
  hash(
    'sha256',
    JSON.stringify([
      ...models.map(({ name, sql }) => [name, sql]),
      ...[...foundBy('customers'), ...sortedTables('serving')].map(({ name, select }) => [name, select]),
    ]),
  )
