import { RELATIONS, type RelationName, sourceName } from '../lake/relations.ts'
import { type Model, upstreamOf } from '../model/graph.ts'
import type { Turns } from './cadence.ts'
import { SOURCES } from './catalog.ts'
import { OF_SEGMENTS } from './marts.ts'
import { type Read, readsOf } from './narrow.ts'
import type { Parts } from './part.ts'
import { planOf } from './way.ts'

/** What a refresh makes, and of what. */
export interface Needed {
  models: readonly Model[]
  sources: ReadonlySet<RelationName>
  /** What rules read of models that nothing else reads. */
  narrow: ReadonlyMap<string, Read>
}

/** Relations that rules can read. */
const RULED = Object.values(SOURCES).flatMap(({ relation, lines }) => [
  relation.name,
  ...(lines ? [lines.name] : []),
])

/** The models that are stored, and all that rules can read. */
export const madeOf = (models: readonly Model[]): Model[] =>
  upstreamOf([...storedOf(models), ...RULED], models)

const storedOf = (models: readonly Model[]) => models.flatMap(({ stored, name }) => (stored ? name : []))

/**
 * What these parts store, and what the rules of today read: each model and source that is not opened counts, and of
 * `hollow` ones, which have no rows, nothing is read.
 */
export function neededOf(
  models: readonly Model[],
  hollow: ReadonlySet<string>,
  { due, waiting }: Turns,
  parts: Parts,
): Needed {
  const planned = planOf([...due, ...waiting])
  const reads = planned && readsOf(planned)
  const stored = parts.has('models') ? storedOf(models) : [OF_SEGMENTS]
  const made = reads ? upstreamOf([...stored, ...reads.keys()], models) : madeOf(models)
  const read = new Set(made.flatMap((model) => (hollow.has(model.name) ? [] : model.reads)))
  return {
    models: made,
    sources: new Set((Object.keys(RELATIONS) as RelationName[]).filter((name) => read.has(sourceName(name)))),
    narrow: new Map([...(reads ?? [])].filter(([name]) => !read.has(name) && !hollow.has(name))),
  }
}
