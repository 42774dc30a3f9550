import * as v from 'valibot'
import { jsonObject, list, named, paging, time } from '../fields.ts'
import { type Op, op } from '../op.ts'
import { type EntryPlace, KINDS, pageOf } from './activity-source.ts'
import * as example from './customer-example.ts'
import { customerPath, LISTED } from './customer-fields.ts'
import { findCustomer } from './customer-rows.ts'

const ActivityEntry = named('ActivityEntry', {
  id: v.string(),
  kind: v.picklist(KINDS),
  /** Of an event its type, of a message its direction, of an order its state, of a segment what happened. */
  type: v.string(),
  occurred_at: time,
  data: jsonObject,
})

export const customerActivityOps: readonly Op[] = [
  op({
    name: 'get_customer_activity',
    route: 'GET /v1/customers/{id}/activity',
    scopes: ['customers:read'],
    feature: 'cdp',
    page: LISTED,
    what: 'What a customer did and what happened to it, newest first: events within a minute of their receipt, orders, messages, and segments that it entered or left in the last 180 days. Profiles that were merged into it count as the customer. A page of large events is shorter than its limit.',
    input: { path: customerPath, query: v.strictObject(paging(LISTED)) },
    output: list(ActivityEntry),
    example: { path: { id: example.ID }, output: { data: example.ENTRIES, next_cursor: null } },
    run: async (ctx, { path: { id }, query: { limit, cursor } }) => {
      const after = ctx.cursors.open<EntryPlace>(cursor, { id })
      const whose = await findCustomer(ctx, id)
      const { entries, goesOn } = await pageOf(ctx, { whose, after, limit })
      const last = goesOn ? entries.at(-1) : undefined
      const next: EntryPlace | undefined = last && {
        ...{ at: last.at, kind: last.kind, turn: last.turn, id: last.id },
      }
      return {
        data: entries.map(({ at, turn: _, ...entry }) => ({
          ...entry,
          occurred_at: new Date(at).toISOString(),
        })),
        next_cursor: next ? ctx.cursors.seal(next, { id }) : null,
      }
    },
  }),
]
