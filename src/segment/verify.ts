import type { Pipeline } from '../lake/pipeline.ts'
import type { Session } from '../lake/session.ts'
import { log } from '../log.ts'
import { amongSegments } from './among.ts'
import type { BrandRow } from './brand-row.ts'
import { sawLast } from './cadence.ts'
import { isEdited } from './edited.ts'
import { withoutScored } from './scored.ts'
import type { Task } from './way.ts'

/** A full refresh of what was published incrementally just before must find nothing but what came since. */
export async function compareWithPublished(
  { duck }: Session,
  { postgres }: Pipeline,
  brand: BrandRow,
  { turns: { due }, models }: Task,
): Promise<void> {
  // Those that did not see the last refresh, or have another rule by now, differ as they should.
  const seen = withoutScored(due).filter((segment) => sawLast(segment, brand) && !isEdited(segment))
  const rows = models.flatMap(({ stored, by, name }) =>
    stored && by
      ? `select customer from ((from ${name} except from published.${name}) union all (from published.${name} except from ${name}))`
      : [],
  )
  const [found] = await duck.rows<{ memberships: number; customers: number }>(`
    select
      (select count(*) from member_diff anti join changed_customers using (customer) where ${amongSegments(seen)}) as memberships,
      (
        select count(distinct customer) from (${rows.join(' union all ')})
        anti join changed_customers using (customer) where customer is not null
      ) as customers`)
  if (!found || found.memberships + found.customers === 0) return
  log('error', 'incremental_refresh_differs', { brand_id: brand.id, ...found })
  await postgres.pipeline.run('lake_brand_differs', [brand.id, found.memberships, found.customers])
}
