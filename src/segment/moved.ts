import { laterFiles } from '../lake/manifest.ts'
import { type RelationName, sourceName } from '../lake/relations.ts'
import type { Session } from '../lake/session.ts'
import type { Model } from '../model/graph.ts'
import { instant } from '../store/duckdb.ts'
import { DATED_SOURCES, type DatedSource, passedBetween } from './slices.ts'

/** Sources that sums and scores of everyone are made of; of the others only who customers are. */
const SOLD = ['orders', 'refunds'] as const
/** To whom. */
const OWNERS = ['customers', 'subject_redirect'] as const

/** Whether as_of is another day of the brand's zone than an instant was: days since an order are counted anew. */
export const dayTurned = (session: Session, from: Date): Promise<boolean> => isAny(session, [turnedSql(from)])

/** Whether it is, or rows came of age, or are ahead again, since results were made as of another instant. */
export const timeTold = (
  session: Session,
  from: Date,
  of: readonly DatedSource[] = Object.keys(DATED_SOURCES) as DatedSource[],
): Promise<boolean> =>
  isAny(session, [turnedSql(from), ...of.flatMap((source) => agedSql(session, source, from))])

async function isAny({ duck }: Session, conditions: readonly string[]): Promise<boolean> {
  const [row] = await duck.rows<{ some: boolean }>(`select ${conditions.join(' or ')} as some from params`)
  return row?.some ?? false
}

const turnedSql = (from: Date) =>
  `timezone(timezone, timezone('UTC', ${instant(from)}))::date
   is distinct from timezone(timezone, timezone('UTC', as_of))::date`

function agedSql({ asOf, sources }: Session, source: DatedSource, from: Date): string[] {
  const [name, column] = [sourceName(source), DATED_SOURCES[source]]
  const [low, high] = from < asOf ? [from, asOf] : [asOf, from]
  return sources.has(name)
    ? [`exists (from ${name} where ${passedBetween({ relation: name, column, lessDays: 0 }, low, high)})`]
    : []
}

/** Whether products changed after a tick: they are about nobody, so that nobody is touched. */
export async function productsChanged({ duck }: Session, since: number): Promise<boolean> {
  const [row] = await duck.rows<{ some: boolean }>(
    `select exists (from products_changed where tick > ${Math.trunc(since)}) as some`,
  )
  return row?.some ?? false
}

/** Whether marts that are not made by customer stay as they were published while nothing is sold. */
export const areOfSales = (models: readonly Model[]): boolean =>
  models.every(({ stored, by, of }) => !stored || by || of === 'sales')

/**
 * Whether marts of sales can differ from the published ones: what was sold changed, or to whom, or
 * the day did. Most ticks bring visits only. `open`: opens `published.orders`, where it is not.
 */
export async function salesMoved(
  session: Session,
  since: number,
  from: Date,
  open = async () => {},
): Promise<boolean> {
  if (await timeTold(session, from, SOLD)) return true
  const isLater = (relation: RelationName) => laterFiles(session.manifest, relation, since).length > 0
  if (isLater('products') && (await productsChanged(session, since))) return true
  if (![...SOLD, ...OWNERS].some(isLater)) return false
  await open()
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
