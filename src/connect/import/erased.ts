import { erasedAmong, type Identity } from '../../identity/subject.ts'
import type { Sql, Transaction } from '../../store/postgres.ts'
import type { ImportRun } from './file.ts'

/** Which rows tell of a customer who was erased after what they tell: nothing of them may name anybody. */
export async function erasedRows(
  sql: Sql | Transaction,
  { brand, storePlatformDomain }: ImportRun,
  identities: readonly Identity[],
): Promise<boolean[]> {
  const erased = await erasedAmong(sql, brand.id, identities, { storePlatformDomain })
  return erased.map((at) => at !== null)
}

/** The JSON rows of a chunk with a mark on those that are erased, which the database empties. */
export function marked(rows: string, erased: readonly boolean[]): string {
  if (!erased.includes(true)) return rows
  const parsed = JSON.parse(rows) as object[]
  return JSON.stringify(parsed.map((row, at) => (erased[at] ? { ...row, erased: true } : row)))
}
