import { erasedAmong } from '../identity/subject.ts'
import type { Duck } from '../store/duckdb.ts'
import { statement } from '../store/sqlfile.ts'
import { IDENTITIES_A_CALL, type IdentityRow, identityOf } from './line-identity.ts'
import type { Pipeline } from './pipeline.ts'

/** Leaves out lines of erased customers from before their erasure; their numbers, also of those that are repeats. */
export async function leaveOutErased(pipeline: Pipeline, duck: Duck): Promise<number[]> {
  if (!(await loadErasures(pipeline, duck))) return []
  const rows = await duck.rows<IdentityRow>(statement('duckdb', 'perhaps_erased'))
  if (rows.length === 0) return []
  await duck.run('create table erased_identity (identity varchar, erased_at timestamp)')
  for (const [brandId, identities] of Map.groupBy(rows, (row) => row.brand_id)) {
    for (let at = 0; at < identities.length; at += IDENTITIES_A_CALL)
      await markErased(pipeline, duck, brandId, identities.slice(at, at + IDENTITIES_A_CALL))
  }
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
  await duck.run('create table newest_erasure (brand_id varchar, erased_at timestamp)')
  for (const { brand_id, erased_at } of erasures)
    await duck.run('insert into newest_erasure values ($1, $2::timestamp)', [brand_id, erased_at])
  return true
}

async function markErased(
  { postgres, storePlatformDomain }: Pipeline,
  duck: Duck,
  brandId: string,
  rows: readonly IdentityRow[],
): Promise<void> {
  const until = await erasedAmong(postgres.sql, brandId, rows.map(identityOf), { storePlatformDomain })
  for (const [at, erasedAt] of until.entries()) {
    if (erasedAt)
      await duck.run('insert into erased_identity values ($1, $2::timestamp)', [rows[at]?.identity, erasedAt])
  }
}
