import { erasedAmong } from '../identity/subject.ts'
import type { Duck } from '../store/duckdb.ts'
import { makeTable } from '../store/duckdb-table.ts'
import { statement } from '../store/sqlfile.ts'
import { IDENTITIES_A_CALL, type IdentityRow, identityOf } from './line-identity.ts'
import type { Pipeline } from './pipeline.ts'

/** Leaves out lines of erased customers from before their erasure; their numbers, also of those that are repeats. */
export async function leaveOutErased(pipeline: Pipeline, duck: Duck): Promise<number[]> {
  if (!(await loadErasures(pipeline, duck))) return []
  const rows = await duck.rows<IdentityRow>(statement('duckdb', 'perhaps_erased'))
  if (rows.length === 0) return []
  const found: ErasedIdentity[] = []
  for (const [brandId, identities] of Map.groupBy(rows, (row) => row.brand_id)) {
    for (let at = 0; at < identities.length; at += IDENTITIES_A_CALL)
      found.push(...(await erasedOf(pipeline, brandId, identities.slice(at, at + IDENTITIES_A_CALL))))
  }
  await makeTable(duck, 'erased_identity', { identity: 'VARCHAR', erased_at: 'TIMESTAMP' }, found)
  const erased = await duck.rows<{ n: number }>(
    `insert into left_out
     select n from living join erased_identity using (identity) where occurred_at <= erased_at
     returning n`,
  )
  return erased.map(({ n }) => n)
}

/** Makes `newest_erasure (brand_id, erased_at)`; false when it is empty, as it mostly is. */
async function loadErasures({ postgres }: Pipeline, duck: Duck): Promise<boolean> {
  const brands = await duck.rows<{ id: string }>('select distinct brand_id as id from living')
  const erasures = await postgres.pipeline.many<{ brand_id: string; erased_at: Date }>('newest_erasures', [
    brands.map(({ id }) => id),
  ])
  if (erasures.length === 0) return false
  await makeTable(
    duck,
    'newest_erasure',
    { brand_id: 'VARCHAR', erased_at: 'TIMESTAMP' },
    erasures.map(({ brand_id, erased_at }) => [brand_id, erased_at]),
  )
  return true
}

type ErasedIdentity = [identity: string, erasedAt: Date]

/** Those of the erased, and until when lines that name them are to be left out. */
async function erasedOf(
  { postgres, storePlatformDomain }: Pipeline,
  brandId: string,
  rows: readonly IdentityRow[],
): Promise<ErasedIdentity[]> {
  const until = await erasedAmong(postgres.sql, brandId, rows.map(identityOf), { storePlatformDomain })
  return rows.flatMap(({ identity }, at) => {
    const erasedAt = until[at]
    return erasedAt ? [[identity, erasedAt]] : []
  })
}
