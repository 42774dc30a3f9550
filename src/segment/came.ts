import type { Model } from '../model/graph.ts'
import { over } from '../model/over.ts'
import type { Duck } from '../store/duckdb.ts'
import { DATED_SOURCES, passedBetween } from './slices.ts'

export const EVENTS = 'stg_events'

/** The rows of a staging model, each of which is an event, that were not there at the earlier instant. */
export const cameOf = (relation: string) => `came_${relation}`

/** What changed, and since when time went on. */
export interface Moved {
  models: readonly Model[]
  /** Tick after which rows are new. */
  since: number
  from: Date
  asOf: Date
}

/** The events that came: new ones, and those that are no longer ahead. Needs `changed_subjects` and `dated_subjects`. */
export async function openCame(duck: Duck, { models, since, from, asOf }: Moved): Promise<void> {
  const tick = Math.trunc(since)
  const dated = passedBetween({ relation: EVENTS, column: DATED_SOURCES.events, lessDays: 0 }, from, asOf)
  await duck.run(`
    create view came_events as
    from events where tick > ${tick} union all from events where tick <= ${tick} and ${dated}`)
  await duck.run(`
    create table came_redirects as
    from subject_redirect semi join (
      select subject from changed_subjects where relation = 'events'
      union all
      select subject from dated_subjects where relation = 'events'
    ) as came using (subject)`)
  await openCameOf(duck, EVENTS, models)
}

export async function openCameOf(duck: Duck, relation: string, models: readonly Model[]): Promise<void> {
  const rows = { events: 'from came_events', subject_redirect: 'from came_redirects' }
  await duck.run(`create view ${cameOf(relation)} as ${over(models, relation, rows)}`)
}
