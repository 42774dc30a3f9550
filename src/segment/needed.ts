import type { Manifest } from '../lake/manifest.ts'
import { RELATIONS, type RelationName, sourceName } from '../lake/relations.ts'
import type { Session } from '../lake/session.ts'
import { type Model, upstreamOf } from '../model/graph.ts'
import { hollowByRows, hollowIn } from '../model/hollow.ts'
import type { Turns } from './cadence.ts'
import { SOURCES } from './catalog.ts'
import { CUSTOMERS } from './marts.ts'
import { type Read, readsOf } from './narrow.ts'
import type { Parts } from './part.ts'
import { planOf, type Task } from './way.ts'

/** Relations that rules can read. */
const RULED = Object.values(SOURCES).flatMap(({ relation, lines }) => [
  relation.name,
  ...(lines ? [lines.name, lines.products.name] : []),
])

/** The models that are stored, and all that rules can read. */
const madeOf = (models: readonly Model[]): Model[] => upstreamOf([...storedOf(models), ...RULED], models)

const storedOf = (models: readonly Model[]) => models.flatMap(({ stored, name }) => (stored ? name : []))

interface Needed {
  models: readonly Model[]
  hollow: ReadonlySet<string>
  sources: ReadonlySet<RelationName>
  narrow: ReadonlyMap<string, Read>
}

/** What a refresh makes, and of what. */
export interface Needs {
  /** All, where undefined. */
  sources(isSmall: boolean, manifest: Manifest): ReadonlySet<RelationName> | undefined
  in(session: Session): Promise<Pick<Task, 'models' | 'narrow' | 'hollow'>>
}

/** What these parts store, and what the rules of today read: each model and source that is not opened counts. */
export function needsOf(models: readonly Model[], turns: Turns, parts: Parts): Needs {
  // Recent rows of a large brand are copied with its models, whatever rules read.
  const isNarrow = (isSmall: boolean) => isSmall || !parts.has('models')
  let known: Needed | undefined
  // Of a large brand staging models are views: one without rows costs nothing.
  const needed = (isSmall: boolean, manifest: Manifest) =>
    (known ??= neededOf(models, isSmall ? hollowIn(models, manifest) : new Set(), turns, parts))
  return {
    sources: (isSmall, manifest) => (isNarrow(isSmall) ? needed(isSmall, manifest).sources : undefined),
    in: async (session) => {
      const { isSmall, manifest } = session
      if (!isNarrow(isSmall)) return { models: madeOf(models), narrow: new Map(), hollow: new Map() }
      const { models: made, hollow: empty, narrow } = needed(isSmall, manifest)
      if (!isSmall) return { models: made, narrow: new Map(), hollow: new Map() }
      const hollow = await hollowByRows(session, made, empty)
      const columns = models.flatMap((model) =>
        hollow.has(model.name) ? [[model.name, model.columns] as const] : [],
      )
      return { models: made, narrow, hollow: new Map(columns) }
    },
  }
}

/** Of `hollow` models, which have no rows, nothing is read. */
function neededOf(
  models: readonly Model[],
  hollow: ReadonlySet<string>,
  { due, waiting }: Turns,
  parts: Parts,
): Needed {
  const planned = planOf([...due, ...waiting])
  const reads = planned && readsOf(planned)
  const stored = parts.has('models') ? storedOf(models) : [CUSTOMERS]
  const made = reads ? upstreamOf([...stored, ...reads.keys()], models) : madeOf(models)
  const read = new Set(made.flatMap((model) => (hollow.has(model.name) ? [] : model.reads)))
  const isRead = (name: RelationName) => ALWAYS.has(name) || read.has(sourceName(name))
  return {
    models: made,
    hollow,
    sources: new Set((Object.keys(RELATIONS) as RelationName[]).filter(isRead)),
    narrow: new Map([...(reads ?? [])].filter(([name]) => !read.has(name) && !hollow.has(name))),
  }
}

/** Why somebody left is told by them. */
const ALWAYS: ReadonlySet<RelationName> = new Set(['customers', 'subject_redirect'])
