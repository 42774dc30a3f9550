import * as v from 'valibot'
import { count, named, time } from '../fields.ts'
import { aboutSubjects } from '../model/about.ts'
import { loadReadable } from '../model/graph.ts'
import { type Op, op, type Reader } from '../op.ts'
import { checkWindow, LISTED, offsetPaging, sorting, sourcesOf, WINDOW } from './cdp-fields.ts'
import * as example from './cdp-profile-example.ts'
import { customerPath } from './customer-fields.ts'
import { findCustomer } from './customer-rows.ts'

const Session = named('Session', {
  itemId: v.string(),
  scope: v.string(),
  profileId: v.string(),
  startedAt: time,
  endedAt: time,
  durationSeconds: count,
  events: count,
  entryUrl: v.nullable(v.string()),
  referrer: v.nullable(v.string()),
  utm: v.object({
    source: v.nullable(v.string()),
    medium: v.nullable(v.string()),
    campaign: v.nullable(v.string()),
    term: v.nullable(v.string()),
    content: v.nullable(v.string()),
  }),
  device: v.nullable(v.string()),
})

interface SessionRow {
  session_id: string
  started_at: Date
  ended_at: Date
  duration_seconds: number
  events: number
  entry_url: string | null
  referrer: string | null
  device: string | null
  utm_source: string | null
  utm_medium: string | null
  utm_campaign: string | null
  utm_term: string | null
  utm_content: string | null
}

interface Counted {
  /** Up to the window. */
  sessions: number
}

const SESSIONS = sorting(
  {
    startedAt: 'started_at',
    endedAt: 'ended_at',
    durationSeconds: 'duration_seconds',
    itemId: 'session_id',
    // As profiles are sorted by it.
    'itemId.keyword': 'session_id',
  },
  'session_id',
  'desc',
)

export const cdpSessionOps: readonly Op[] = [
  op({
    name: 'list_cdp_sessions',
    route: 'GET /cdp/profiles/{id}/sessions',
    surface: 'cdp',
    scopes: ['customers:read'],
    feature: 'cdp',
    tool: false,
    page: LISTED,
    errors: ['upstream_error'],
    what: 'Visits of a profile, those of the last minute included, the last ones first unless a sort says otherwise.',
    input: { path: customerPath, query: v.strictObject({ ...offsetPaging(LISTED), sort: SESSIONS.schema }) },
    output: v.object({ list: v.array(Session), totalSize: count, offset: count, pageSize: count }),
    example: example.SESSIONS,
    run: async (ctx, { path: { id }, query: { limit, offset, sort } }) => {
      checkWindow({ limit, offset })
      const { subjects, customer_id } = await findCustomer(ctx, id)
      // Not published: to make the visits of a million customers takes longer than all else of a refresh.
      const sources = await sourcesOf(ctx)
      const whose = aboutSubjects((await loadReadable()).models, 'stg_sessions', subjects)
      // With each row how many there are: to find the events of a customer takes longer than all else.
      const rows = await sources.rows<SessionRow & Counted>(
        `select *, least(count(*) over (), $3::integer) as sessions
         from (${whose}) order by ${SESSIONS.sql(sort)} limit $1 offset $2`,
        [limit, offset, WINDOW],
      )
      const [all] = rows.length || offset === 0 ? rows : await countOf(sources, whose)
      return {
        list: rows.map((row) => sessionOf(row, customer_id, ctx.brand.shop_domain)),
        totalSize: all?.sessions ?? 0,
        offset,
        pageSize: limit,
      }
    },
  }),
]

/** For a page behind the last one, which has no row that says it. */
const countOf = (sources: Reader, whose: string) =>
  sources.rows<Counted>(`select count(*) as sessions from (from (${whose}) limit $1)`, [WINDOW])

const sessionOf = (row: SessionRow, profileId: string, scope: string): v.InferOutput<typeof Session> => ({
  itemId: row.session_id,
  scope,
  profileId,
  startedAt: row.started_at.toISOString(),
  endedAt: row.ended_at.toISOString(),
  durationSeconds: row.duration_seconds,
  events: row.events,
  entryUrl: row.entry_url,
  referrer: row.referrer,
  utm: {
    source: row.utm_source,
    medium: row.utm_medium,
    campaign: row.utm_campaign,
    term: row.utm_term,
    content: row.utm_content,
  },
  device: row.device,
})
