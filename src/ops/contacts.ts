import * as v from 'valibot'
import { id, list, named, paging, time, uuid } from '../fields.ts'
import { type ConsentState, toldConsent } from '../identity/contact.ts'
import { type Op, op, type Page } from '../op.ts'
import { paged } from './walk.ts'

const LISTED: Page = { default: 50, max: 100, over: 'clamp' }

const consent = v.picklist(['subscribed', 'unsubscribed', 'unknown'])

const Contact = named('Contact', {
  id,
  email: v.nullable(v.string()),
  phone: v.nullable(v.string()),
  first_name: v.nullable(v.string()),
  last_name: v.nullable(v.string()),
  customer_id: v.nullable(v.string()),
  consent: v.object({ sms: consent, email: consent }),
  created_at: time,
  updated_at: time,
})

interface ContactRow {
  brand_id: string
  id: string
  email: string | null
  phone: string | null
  first_name: string | null
  last_name: string | null
  customer_id: string | null
  sms_consent: ConsentState
  email_consent: ConsentState
  created_at: Date
  updated_at: Date
}

const shown = ({
  brand_id: _,
  sms_consent,
  email_consent,
  ...contact
}: ContactRow): v.InferOutput<typeof Contact> => ({
  ...contact,
  consent: { sms: toldConsent(sms_consent), email: toldConsent(email_consent) },
  created_at: contact.created_at.toISOString(),
  updated_at: contact.updated_at.toISOString(),
})

const ID = '0193d2b4-6a1e-7f35-8c90-2d4b7e6f1a58'

const EXAMPLE = {
  id: ID,
  email: 'ada@example.com',
  phone: '+12015550123',
  first_name: 'Ada',
  last_name: null,
  customer_id: 'myshopify:lumen-home:7100000000046',
  consent: { sms: 'subscribed', email: 'unknown' },
  created_at: '2026-11-20T08:00:12.000Z',
  updated_at: '2026-11-21T09:14:58.000Z',
}

export const contactOps: readonly Op[] = [
  op({
    name: 'list_contacts',
    route: 'GET /v1/contacts',
    scopes: ['contacts:read'],
    page: LISTED,
    what: 'People whom the brand may message, newest first: one per email address and per phone number.',
    input: { query: v.strictObject(paging(LISTED)) },
    output: list(Contact),
    tool: false,
    example: { output: { data: [EXAMPLE], next_cursor: null } },
    run: async ({ db, cursors }, { query: { limit, cursor } }) => {
      const after = cursors.open<string>(cursor)
      const found = await db.many<ContactRow>('contacts_page', [after, limit + 1])
      const { rows, last } = paged(found, limit)
      return { data: rows.map(shown), next_cursor: last ? cursors.seal(last.id) : null }
    },
  }),

  op({
    name: 'get_contact',
    route: 'GET /v1/contacts/{id}',
    scopes: ['contacts:read'],
    what: 'One contact with its consent.',
    input: { path: v.strictObject({ id: uuid }) },
    output: Contact,
    example: { path: { id: ID }, output: EXAMPLE },
    run: async ({ db }, { path }) => shown(await db.one<ContactRow>('contact_by_id', [path.id])),
  }),
]
