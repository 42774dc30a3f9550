import { updateSegment } from '../src/segment/saved.ts'
import type { Postgres } from '../src/store/postgres.ts'

/** Saves rules of the brand once more, all or so many at most: the next refresh evaluates everyone for them. */
export async function editRules(
  postgres: Postgres,
  brandId: string,
  most: number | null = null,
): Promise<void> {
  const segments = await postgres.sql<{ id: string; definition: unknown }[]>`
    select segment.id, definition
    from segment
    join segment_version on segment_version.brand_id = segment.brand_id
      and segment_version.segment_id = segment.id and segment_version.version = segment.version
    where segment.brand_id = ${brandId} and status = 'active' and every_minutes is null
    order by ordinal
    limit ${most}`
  if (segments.length === 0) throw new Error('the brand has no segment')
  for (const { id, definition } of segments)
    await updateSegment(postgres.forBrand(brandId), { id, definition, createdBy: 'benchmark' })
}
