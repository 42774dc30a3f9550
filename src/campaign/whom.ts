import type { Statements } from '../op.ts'

interface WhomRow {
  contact_id: string | null
  customer_id: string | null
  email: string | null
  phone: string | null
}

/** Whom a conversation is with, and how an event of it names them. */
export interface Whom {
  contactId: string | null
  /** The public id of the customer; of a contact without one its channels. None: it is erased. */
  identifiers: { profile_id?: string; email?: string; phone?: string }
}

/** Fails with not_found. */
export async function whomOf(db: Pick<Statements, 'one'>, conversationId: string): Promise<Whom> {
  const row = await db.one<WhomRow>('conversation_whom', [conversationId])
  const { contact_id: contactId, customer_id, email, phone } = row
  if (customer_id !== null) return { contactId, identifiers: { profile_id: customer_id } }
  return { contactId, identifiers: { ...(email && { email }), ...(phone && { phone }) } }
}
