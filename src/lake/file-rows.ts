import { join } from 'node:path'
import { literal } from '../store/duckdb.ts'
import type { FileRelation, LakeFile } from './manifest.ts'
import type { Relation } from './relation.ts'
import { columnsOf, RELATIONS, type RelationName } from './relations.ts'

/** The files as a DuckDB list of absolute paths. */
export const fileList = (lakeDir: string, files: readonly Pick<LakeFile, 'path'>[]) =>
  `[${files.map(({ path }) => literal(join(lakeDir, path))).join(', ')}]`

/**
 * The rows of files of one relation, for a FROM clause, with all the columns that it has today: those that files of earlier
 * schema versions lack are derived.
 */
export function fileRows(lakeDir: string, relation: FileRelation, files: readonly LakeFile[]): string {
  if (!isSource(relation)) return parquet(lakeDir, files)
  const { derived = {} } = RELATIONS[relation] as Relation
  const lacks = (file: LakeFile) => Object.values(derived).some(({ since }) => file.schema_version < since)
  const versions = [...Map.groupBy(files, (file) => (lacks(file) ? file.schema_version : null))]
  const parts = versions.map(([version, these]) =>
    version === null
      ? parquet(lakeDir, these)
      : `(${withDerived(relation, version)} from ${parquet(lakeDir, these)})`,
  )
  if (parts.length === 1) return String(parts[0])
  const columns = columnsOf(relation).join(', ')
  return `(${parts.map((part) => `select ${columns} from ${part}`).join(' union all ')})`
}

const isSource = (relation: FileRelation): relation is RelationName => relation in RELATIONS

const parquet = (lakeDir: string, files: readonly LakeFile[]) => `read_parquet(${fileList(lakeDir, files)})`

/** A SELECT list of rows that have the columns of a schema version, for those that it lacks. */
export function withDerived(relation: RelationName, version = 0): string {
  const { derived = {} } = RELATIONS[relation] as Relation
  const lacking = Object.entries(derived).filter(([, { since }]) => version < since)
  return `select ${['*', ...lacking.map(([name, { as }]) => `${as} as ${name}`)].join(', ')}`
}
