import { laterFiles, type Manifest } from '../lake/manifest.ts'
import { RELATIONS, type RelationName, sourceName } from '../lake/relations.ts'
import type { Session } from '../lake/session.ts'
import type { Model } from './graph.ts'
import type { From } from './header.ts'
import { naming } from './run.ts'

/** Sources of a brand that have no files, and the models that have no rows for that reason. */
export function hollowIn(models: readonly Model[], manifest: Manifest): Set<string> {
  const relations = Object.keys(RELATIONS) as RelationName[]
  const empty = relations.filter((name) => laterFiles(manifest, name, -1).length === 0)
  return withThoseFrom(models, empty.map(sourceName))
}

/** With the models whose rows come from such rows of a source as it does not have. */
export async function hollowByRows(
  { duck, sources }: Session,
  models: readonly Model[],
  hollow: ReadonlySet<string>,
): Promise<ReadonlySet<string>> {
  const asked = models.flatMap(({ name, file, from }) =>
    from?.where !== undefined && sources.has(from.relation) && !hollow.has(name)
      ? { name, file, ...from }
      : [],
  )
  if (asked.length === 0) return hollow
  const found = asked.map((each) => `exists (${rowsFrom(each)}\n) as ${each.name}`)
  const [row] = await duck
    .rows<Record<string, boolean>>(`select ${found.join(', ')}`)
    .catch(async (error) => {
      // One by one whichever fails is named.
      for (const each of asked) await naming(each, () => duck.run(rowsFrom(each)))
      throw error
    })
  return withThoseFrom(models, [...hollow, ...asked.flatMap(({ name }) => (row?.[name] ? [] : name))])
}

/** What a model's rows come from, as a SELECT. */
export const rowsFrom = ({ relation, where }: From): string =>
  `select 1 as one from ${relation}${where === undefined ? '' : ` where ${where}`}`

function withThoseFrom(models: readonly Model[], names: readonly string[]): Set<string> {
  const hollow = new Set(names)
  for (const { name, from } of models) if (from && !from.where && hollow.has(from.relation)) hollow.add(name)
  return hollow
}
