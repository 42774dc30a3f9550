import { SOURCES, type Source, type SourceName } from './catalog.ts'

/** What conditions of the customer-data host read beside the sources of rules. */
const INNER = {
  any_event: {
    relation: { name: 'stg_events', alias: 'events' },
    rows: 'many',
    time: 'occurred_at',
    fields: {},
    help: 'Events of every type',
  },
  sessions: {
    relation: { name: 'stg_sessions', alias: 'sessions' },
    rows: 'many',
    time: 'started_at',
    fields: {},
    help: 'Visits',
  },
  attributes: {
    relation: { name: 'stg_customer_attributes', alias: 'attributes' },
    rows: 'many',
    time: 'set_at',
    fields: {},
    help: 'Properties that events set on profiles, one row each',
  },
} satisfies Record<string, Source>

/** A source of rules, or one that only conditions of the customer-data host read. */
export type AnySource = SourceName | keyof typeof INNER

const ALL: Readonly<Record<AnySource, Source>> = { ...SOURCES, ...INNER }

export const sourceOf = (name: AnySource): Source => ALL[name]
