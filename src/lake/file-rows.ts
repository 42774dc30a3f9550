import { join } from 'node:path'
import { literal } from '../store/duckdb.ts'
import type { FileRelation, LakeFile } from './manifest.ts'
import type { Relation } from './relation.ts'
import { columnsOf, RELATIONS, type RelationName } from './relations.ts'

/** The files as a DuckDB list of absolute paths. */
export const fileList = (lakeDir: string, files: readonly Pick<LakeFile, 'path'>[]) =>
  `[${files.map(({ path }) => literal(join(lakeDir, path))).join(', ')}]`

/**
 * The rows of files of one relation, for a FROM clause, with the columns that it has today and no others: those that files
 * of earlier schema versions lack are derived.
 */
export function fileRows(lakeDir: string, relation: FileRelation, files: readonly LakeFile[]): string {
  const all = (these: readonly LakeFile[]) => `read_parquet(${fileList(lakeDir, these)})`
  if (!isSource(relation)) return all(files)
  const versions = [...Map.groupBy(files, ({ schema_version }) => schema_version)]
  const parts = versions.map(
    ([version, these]) => `select ${columnsAsOf(relation, version)} from ${all(these)}`,
  )
  return `(${parts.join(' union all ')})`
}

const isSource = (relation: FileRelation): relation is RelationName => relation in RELATIONS

/** A SELECT list of a relation's columns over rows that have those of a schema version. */
export function columnsAsOf(relation: RelationName, version: number): string {
  const { derived = {} } = RELATIONS[relation] as Relation
  const columns = columnsOf(relation).map((name) => {
    const made = derived[name]
    return made && version < made.since ? `${made.as} as ${name}` : name
  })
  return columns.join(', ')
}
