import { basename } from 'node:path'
import type { Model } from './graph.ts'
import { didYouMean } from './nearest.ts'
import { KINDS, type Kind, READ, VIEWED } from './published-columns.ts'

/** Throws an error that names the file of a model that operations could not read, or that refreshes do not publish. */
export function checkPublished(models: readonly Model[]): void {
  for (const [name, columns] of Object.entries(READ)) {
    const model = modelRead(models, name, columns)
    if (!model.stored)
      throw new Error(
        `${model.file}: operations read what refreshes publish of it, which of a view is nothing`,
      )
    if (name === 'customers' && !model.seen)
      throw new Error(`${model.file}: header keys "by" and "seen" are missing; segments go on by them`)
    const place = name === 'customers' && model.columns.find(([column]) => /^position$/i.test(column))
    if (place)
      throw new Error(
        `${model.file}: column "${place[0]}" is called like the place by customer id; call it otherwise`,
      )
  }
  for (const [path, columns] of Object.entries(VIEWED)) modelRead(models, path, columns)
}

/** The model of a path without its ending. */
function modelRead(models: readonly Model[], path: string, columns: Readonly<Record<string, Kind>>): Model {
  const model = models.find(({ name }) => name === basename(path))
  if (!model) throw new Error(`models/${path}.sql: is missing, and operations read it`)
  for (const [column, kind] of Object.entries(columns)) checkColumn(model, column, kind, 'operations')
  return model
}

/** Throws where those who read the model would find no such column, or one of which they can make nothing. */
export function checkColumn(
  { file, columns }: Pick<Model, 'file' | 'columns'>,
  name: string,
  kind: Kind | undefined,
  readers: string,
): void {
  const types = new Map(columns)
  const type = types.get(name)
  if (type === undefined) {
    const hint = didYouMean(name, types.keys())
    throw new Error(`${file}: column "${name}" is missing, and ${readers} read it.${hint}`)
  }
  if (kind && !KINDS[kind].type.test(type))
    throw new Error(`${file}: column "${name}" is ${type}; ${readers} read ${KINDS[kind].what}`)
}
