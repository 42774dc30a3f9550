import { updateSegment } from '../src/segment/saved.ts'
import type { Postgres } from '../src/store/postgres.ts'

/** Saves a rule of the brand once more, after which its next refresh evaluates everyone. */
export async function editRule(postgres: Postgres, brandId: string): Promise<void> {
  const [segment] = await postgres.sql<{ id: string; definition: unknown }[]>`
    select segment.id, definition
    from segment
    join segment_version on segment_version.brand_id = segment.brand_id
      and segment_version.segment_id = segment.id and segment_version.version = segment.version
    where segment.brand_id = ${brandId} and status = 'active' and every_minutes is null
    order by ordinal
    limit 1`
  if (!segment) throw new Error('the brand has no segment')
  const { id, definition } = segment
  await updateSegment(postgres.forBrand(brandId), { id, definition, createdBy: 'benchmark' })
}
