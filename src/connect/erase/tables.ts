import { type Identifiers, noIdentifiers } from '../../identity/people.ts'
import type { Statements } from '../../op.ts'

/** Whose rows to remove. */
export interface Theirs {
  brandId: string
  subjects: readonly number[]
  identifiers: Identifiers
  /** What came later is of somebody new, unless it carries one of the subjects. */
  erasedAt: Date
}

/** What a step removed, by table. */
export type Counts = Record<string, number>

type Arguments = (theirs: Theirs) => unknown[]

const bySubject: Arguments = ({ subjects }) => [subjects]
const byContact: Arguments = ({ subjects, identifiers: { email, phone }, erasedAt }) => [
  subjects,
  email,
  phone,
  erasedAt,
]
const byVisitor: Arguments = ({ subjects, identifiers, erasedAt }) => {
  const said = Object.entries(identifiers).flatMap(([kind, values]) => values.map((value) => [kind, value]))
  return [subjects, said.map(([kind]) => kind), said.map(([, value]) => value), erasedAt]
}
const byChannel: Arguments = ({ identifiers: { email, phone }, erasedAt }) => [email, phone, erasedAt]

/**
 * What others write of them under these locks is waited for: a statement that itself waited would not see it. In the order
 * in which senders, the runner and who takes messages lock them.
 */
const HOLDS: readonly string[] = ['erased_messages_hold', 'erased_runs_hold', 'erased_contacts_hold']

/** Statement and arguments by table, in an order in which what a later one needs is still there. */
const REMOVALS: readonly [table: string, statement: string, args: Arguments][] = [
  ['fulfillment', 'erase_fulfillments', byContact],
  ['store_order', 'erase_orders', byContact],
  ['checkout', 'erase_checkouts', bySubject],
  ['store_cart', 'erase_store_carts', bySubject],
  ['subscription', 'erase_subscriptions', bySubject],
  ['refund', 'erase_refunds', bySubject],
  ['custom_delivery', 'erase_custom_deliveries', byContact],
  ['custom_event', 'erase_custom_events', byContact],
  ['trigger_event', 'erase_trigger_events', bySubject],
  ['message', 'erase_messages', byContact],
  ['short_link', 'erase_links', byContact],
  ['run_step', 'erase_run_steps', byContact],
  ['campaign_run', 'erase_runs', byContact],
  ['conversation', 'erase_conversations', byContact],
  ['contact', 'erase_contacts', byContact],
  ['dead_letter', 'erase_dead_letters', byChannel],
  [
    'data_request',
    'erase_data_requests',
    (theirs) => [...byChannel(theirs), theirs.identifiers.store_customer_id],
  ],
  ['identifier_claim', 'erase_claims', bySubject],
  ['visitor_claim', 'erase_visitor_claims', byVisitor],
  ['identifier', 'erase_identifiers', bySubject],
]

/** Tables that rows about customers are taken out of; consents and discount codes go with their contact. */
export const ERASED_TABLES: readonly string[] = [
  'customer',
  'contact_consent',
  'discount_code',
  ...REMOVALS.map(([table]) => table),
]

/** Takes customers out of the tables of a brand, within a transaction; again, it finds what was written meanwhile. */
export async function eraseRows(tx: Statements, theirs: Theirs): Promise<Counts> {
  const counts: Counts = {}
  const contacts = [theirs.brandId, ...byContact(theirs)]
  for (const statement of HOLDS) await tx.run(statement, contacts)
  await tx.run('refusals_keep', contacts)
  await tx.run('identifiers_hand_on', [theirs.brandId, theirs.subjects])
  for (const [table, statement, args] of REMOVALS)
    counts[`postgres.${table}`] = await tx.run(statement, [theirs.brandId, ...args(theirs)])
  counts['postgres.customer'] = await tx.run('erase_customers', [
    theirs.brandId,
    theirs.subjects,
    theirs.erasedAt,
  ])
  return counts
}

/** Identifiers of several people in one. */
export function together(all: readonly Identifiers[]): Identifiers {
  const sum = noIdentifiers()
  for (const one of all)
    for (const [kind, values] of Object.entries(one)) {
      const list = sum[kind as keyof Identifiers]
      for (const value of values) list.push(value)
    }
  return sum
}
