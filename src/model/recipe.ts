import { hash } from 'node:crypto'
import type { Model } from './graph.ts'

/** Changes with the SQL of any model, and with nothing else. */
export const modelsHash = (models: readonly Pick<Model, 'name' | 'sql'>[]): string =>
  hash('sha256', JSON.stringify(models.map(({ name, sql }) => [name, sql])))
