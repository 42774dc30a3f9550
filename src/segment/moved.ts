import { laterFiles } from '../lake/manifest.ts'
import { type RelationName, sourceName } from '../lake/relations.ts'
import type { Session } from '../lake/session.ts'
import { statement } from '../store/sqlfile.ts'
import { DATED_SOURCES, type DatedSource } from './slices.ts'

/** Sources that sums and scores of everyone are made of; of the others only who customers are. */
const SOLD = ['orders', 'refunds'] as const
/** To whom. */
const OWNERS = ['customers', 'subject_redirect'] as const

/** Whether rows came of age, or are ahead again, since results were made as of another instant. */
export async function datedBetween(
  { duck, sources }: Session,
  from: Date,
  to: Date,
  of = Object.keys(DATED_SOURCES) as readonly DatedSource[],
): Promise<boolean> {
  const passed = of.flatMap((source) => {
    const [name, column] = [sourceName(source), DATED_SOURCES[source]]
    return sources.has(name) ? `exists (from ${name}, span where ${column} > lo and ${column} <= hi)` : []
  })
  const [row] = await duck.rows<{ some: boolean }>(
    `with span as (select least($1::timestamp, $2::timestamp) as lo, greatest($1::timestamp, $2::timestamp) as hi)
     select ${passed.join(' or ')} as some`,
    [from, to],
  )
  return row?.some ?? false
}

/** Whether it is another day for the brand, so that scores are others. */
export async function dayTurned({ duck }: Session, from: Date): Promise<boolean> {
  const [row] = await duck.rows<{ turned: boolean }>(statement('duckdb', 'day_turned'), [from])
  return row?.turned ?? false
}

/** Whether products changed after a tick: they are about nobody, so that nobody is touched. */
export async function productsChanged({ duck }: Session, since: number): Promise<boolean> {
  const [row] = await duck.rows<{ some: boolean }>(
    `select exists (from products_changed where tick > ${Math.trunc(since)}) as some`,
  )
  return row?.some ?? false
}

/**
 * Whether marts that are not made by customer can differ from the published ones: what was sold changed, or to whom, or
 * the day did. Most ticks bring visits only.
 */
export async function salesMoved(session: Session, since: number, from: Date): Promise<boolean> {
  if (await dayTurned(session, from)) return true
  const isLater = (relation: RelationName) => laterFiles(session.manifest, relation, since).length > 0
  if (isLater('products') && (await productsChanged(session, since))) return true
  if (await datedBetween(session, from, session.asOf, SOLD)) return true
  if (![...SOLD, ...OWNERS].some(isLater)) return false
  const [row] = await session.duck.rows<{ some: boolean }>(`
    select exists (from changed_subjects where relation in ('${SOLD.join("', '")}')) or exists (
      from changed_subjects
      left join subject_redirect as redirect using (subject)
      where relation in ('${OWNERS.join("', '")}')
        and (
          subject in (select customer from published.orders)
          or redirect.customer in (select customer from published.orders)
        )
    ) as some`)
  return row?.some ?? false
}
