import { parseStored } from '../event/exact.ts'
import { isOneOf } from '../lake/one-of.ts'
import { aboutSubjects } from '../model/about.ts'
import { loadReadable, type Model } from '../model/graph.ts'
import type { Ctx } from '../op.ts'
import { DAY_MS } from '../time.ts'
import type { FoundCustomer } from './customer-rows.ts'
import { HISTORY_DAYS } from './segment-fields.ts'
import { PAGE_BYTES } from './walk.ts'

/** The kinds of entries, in the order of those at one instant. */
export const KINDS = ['event', 'message', 'order', 'segment'] as const
type Kind = (typeof KINDS)[number]

/** An entry of a customer's timeline. */
export interface Entry {
  id: string
  kind: Kind
  type: string
  /** ISO 8601 in UTC, to the microsecond. */
  at: string
  /** Of events at one instant the later one has the greater text; of other entries it is empty. */
  turn: string
  data: Record<string, unknown>
}

/** Newest first, those at one instant by kind, events the last received first, and then by id: all of it a total order. */
export type EntryPlace = Pick<Entry, 'at' | 'kind' | 'turn' | 'id'>

export interface EntriesAsked {
  whose: FoundCustomer
  /** Begin after this one. */
  after: EntryPlace | null
  limit: number
}

/** Without data: the page ends before it. */
type Found = Omit<Entry, 'data'> & { data: Entry['data'] | null }

/** Gives up to `limit` entries of its own, in their order. */
type ActivitySource = (ctx: Ctx, asked: EntriesAsked) => Promise<Found[]>

/** Everything that a timeline is made of. */
const SOURCES: readonly ActivitySource[] = [fromLake, fromMessages]

/** Up to `limit` entries of all sources, fewer where these are large, and whether more come after them. */
export async function pageOf(
  ctx: Ctx,
  { limit, ...asked }: EntriesAsked,
): Promise<{ entries: Entry[]; goesOn: boolean }> {
  const found = await Promise.all(SOURCES.map((source) => source(ctx, { ...asked, limit: limit + 1 })))
  // Kinds of two sources differ, and a sort keeps the order of what is equal: ids are compared by the sources alone.
  const all = found
    .flat()
    .sort((a, b) => (a.at === b.at ? KINDS.indexOf(a.kind) - KINDS.indexOf(b.kind) : a.at < b.at ? 1 : -1))
  const end = all.findIndex(({ data }) => data === null)
  const entries = all.slice(0, end < 0 ? limit : Math.min(end, limit)) as Entry[]
  return { entries, goesOn: all.length > entries.length }
}

/** Events and orders as the lake has them now, within a minute of their receipt, and what segments said. */
const lakeSql = (models: readonly Model[], subjects: readonly number[]) => `
  with placed as (${aboutSubjects(models, 'stg_orders', subjects)}),
  entries as (
    select 'event' as kind, event_id as id, event_type as type, occurred_at as moment,
      concat(strftime(received_at, '%Y%m%d%H%M%S%f'), batch_id, lpad(line::varchar, 10, '0')) as turn, properties::varchar as data
    from events, params
    where ${isOneOf(subjects, 'subject')} and occurred_at <= as_of
    union all
    select 'order', order_id, state, created_at, '', json_object(
      'external_id', external_id, 'number', coalesce(number, external_id), 'billing_status', billing_status,
      'total', total::varchar, 'refunded_total', refunded_total::varchar, 'currency_code', currency_code, 'item_count', item_count
    )::varchar
    from placed
    union all
    select 'segment', concat_ws('-', segment_id, generation, customer), action, changed_at, '', json_object(
      'segment_id', segment_id, 'reason', reason, 'generation', generation
    )::varchar
    from member_history join segment_ids using (segment)
    where ${isOneOf(subjects)} and changed_at > $2::timestamp
  ),
  page as (
    from entries
    where $3::timestamp is null or moment < $3::timestamp or (moment = $3::timestamp and (
      kind > $4::varchar or (kind = $4::varchar and (turn < $5::varchar or (turn = $5::varchar and id > $6::varchar)))
    ))
    order by moment desc, kind, turn desc, id
    limit $1
  )
  select kind, id, type, turn, strftime(moment, '%Y-%m-%dT%H:%M:%S.%fZ') as "at",
    case
      when row_number() over newest_first = 1 or sum(strlen(data)) over newest_first <= ${PAGE_BYTES} then data
    end as data
  from page
  window newest_first as (order by moment desc, kind, turn desc, id rows unbounded preceding)
  order by moment desc, kind, turn desc, id`

async function fromLake(ctx: Ctx, { whose, after, limit }: EntriesAsked): Promise<Found[]> {
  const sources = await ctx.lake.sources(undefined, whose.generation)
  const statement = lakeSql((await loadReadable()).models, whose.subjects)
  const rows = await sources.rows<Omit<Entry, 'data'> & { data: string | null }>(statement, [
    limit,
    new Date(ctx.now.getTime() - HISTORY_DAYS * DAY_MS),
    after?.at ?? null,
    after?.kind ?? null,
    // A cursor of before events had turns: those of its instant come once more.
    after && (after.turn ?? '~'),
    after?.id ?? null,
  ])
  const entries = rows.map(
    ({ data, ...entry }): Found => ({
      ...entry,
      data: data === null ? null : (parseStored(data) as Entry['data']),
    }),
  )
  await nameSegments(ctx, entries)
  return entries
}

/** Changes of segments tell the segment's name of today. */
async function nameSegments({ db }: Ctx, entries: readonly Found[]): Promise<void> {
  const changes = entries.flatMap(({ kind, data }) => (kind === 'segment' && data ? [data] : []))
  if (changes.length === 0) return
  const ids = [...new Set(changes.map(({ segment_id }) => segment_id))]
  const segments = await db.many<{ id: string; name: string }>('segment_names', [ids])
  const names = new Map(segments.map(({ id, name }) => [id, name]))
  for (const data of changes) data.name = names.get(data.segment_id as string) ?? null
}

interface MessageRow {
  id: string
  direction: string
  at: string
  [field: string]: unknown
}

/** Messages without their text, which takes a scope of its own. */
async function fromMessages({ db }: Ctx, { whose, after, limit }: EntriesAsked): Promise<Found[]> {
  const turn = after ? KINDS.indexOf(after.kind) - KINDS.indexOf('message') : 0
  const rows = await db.many<MessageRow>('messages_of_customer', [
    whose.subjects,
    whose.contact_id,
    after?.at ?? null,
    // At the instant of the place come all messages, those after it, or none.
    after === null || turn > 0 ? null : turn < 0 ? '' : after.id,
    limit,
  ])
  return rows.map(({ id, direction, at, ...data }) => ({
    id,
    kind: 'message',
    type: direction,
    at,
    turn: '',
    data,
  }))
}
