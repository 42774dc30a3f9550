import { laterFiles, type Manifest } from '../lake/manifest.ts'
import type { Pipeline } from '../lake/pipeline.ts'
import type { Session } from '../lake/session.ts'
import { amongSome } from './among.ts'
import type { BrandRow } from './brand-row.ts'
import type { Kept } from './kept.ts'
import { OF_LAKE } from './members.ts'
import type { Way } from './way.ts'

interface Archived extends Kept {
  /** Members may have been merged in a refresh that did not evaluate it. */
  is_behind: boolean
}

/** Whether anyone can have gone or come back since the last refresh. */
export const customersMoved = (manifest: Manifest, brand: BrandRow): boolean =>
  !brand.no_erasure_since ||
  (['customers', 'subject_redirect'] as const).some(
    (relation) => laterFiles(manifest, relation, brand.refreshed_tick).length > 0,
  )

/**
 * Adds to `member_diff` those members of archived segments who were merged or erased: nobody evaluates these segments, but
 * whoever copied one must learn who left it. Whom the store only hides stays a member, shown again when it gives them back.
 * Returns the archived segments whose members can be others than before.
 */
export async function leaveArchived(
  { duck, manifest }: Pick<Session, 'duck' | 'manifest'>,
  { postgres }: Pick<Pipeline, 'postgres'>,
  brand: BrandRow,
  way: Pick<Way, 'whole' | 'before'>,
  verify = false,
): Promise<readonly Archived[]> {
  const edited = brand.definitions_version > brand.refreshed_definitions_version
  if (!customersMoved(manifest, brand) && !edited && !verify) return []
  const archived = await postgres.pipeline.many<Archived>('segments_archived', [brand.id])
  if (archived.length === 0) return archived
  const behind = edited && archived.some(({ is_behind }) => is_behind)
  const isArchived = amongSome(archived)
  const members = way.whole && !way.before ? 'member_before' : OF_LAKE
  const touched = way.whole || behind ? '' : 'semi join touched using (customer)'
  await duck.run(`
    insert into member_diff
    select segment, customer, 'exited'
    from ${members} ${touched}
    semi join (
      select subject as customer from subject_redirect
      union all
      select subject from customers_gone where is_erased
    ) using (customer)
    where ${isArchived}`)
  return archived
}

/** Rows of `member_diff` that `leaveArchived` added, with their reasons. */
export const reasonsOfLeft = (archived: readonly Kept[]): string => `
    select segment, member_diff.customer, action,
      case when redirect.subject is not null then 'merged' else 'erased' end as reason
    from member_diff
    left join subject_redirect as redirect on redirect.subject = member_diff.customer
    where ${amongSome(archived)}`
