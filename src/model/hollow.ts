import { laterFiles, type Manifest } from '../lake/manifest.ts'
import { RELATIONS, type RelationName, sourceName } from '../lake/relations.ts'
import type { Model } from './graph.ts'

/** Sources of a brand that have no rows, and the staging models that have none for that reason. */
export function hollowIn(models: readonly Model[], manifest: Manifest): Set<string> {
  const relations = Object.keys(RELATIONS) as RelationName[]
  const hollow = new Set(
    relations.flatMap((name) => (laterFiles(manifest, name, -1).length ? [] : sourceName(name))),
  )
  for (const { name, from } of models) if (from !== undefined && hollow.has(from)) hollow.add(name)
  return hollow
}
