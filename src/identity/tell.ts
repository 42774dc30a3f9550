import type { Statements } from '../op.ts'
import { emailOf, phoneOf } from './channel.ts'
import { upsertContact } from './contact.ts'

/** What a server's event says of a profile, as it was sent; null where it says nothing. */
export interface Told {
  subject: number
  email: string | null
  /** Milliseconds since 1970, as the other times. */
  email_at: number | null
  phone: string | null
  phone_at: number | null
  first_name: string | null
  first_name_at: number | null
  last_name: string | null
  last_name_at: number | null
}

interface News {
  subject: number
  email: string | null
  phone: string | null
  firstName: string | null
  lastName: string | null
}

/** Longer names are taken for mistakes. */
const LONGEST_NAME = 256

/**
 * Gives profiles the address and names that servers' events say, within a transaction of the brand: the newest word
 * counts, and the store's record before any. Who is told of is known by then; an address of before goes on to identify.
 * Their contacts follow, without the consent of another address. True when anything changed.
 */
export async function tellProfiles(tx: Statements, told: readonly Told[]): Promise<boolean> {
  const { default_phone_region: region } = await tx.one<{ default_phone_region: string }>('identity_brand')
  const rows = JSON.stringify(told.map((one) => storable(one, region)))
  await tx.many('identity_lock')
  const news = await tx.many<News>('profiles_tell', [rows])
  await tx.run('profiles_told', [rows])
  for (const { subject, email, phone, firstName, lastName } of news) {
    if (email !== null || phone !== null)
      await upsertContact(tx, { subject, email, phone, firstName: null, lastName: null })
    if (firstName !== null || lastName !== null) await tx.run('contacts_name', [subject, firstName, lastName])
  }
  return news.length > 0
}

function storable(told: Told, region: string): Told {
  const email = told.email === null ? null : (emailOf(told.email) ?? null)
  const phone = told.phone === null ? null : (phoneOf(told.phone, region) ?? null)
  const first_name = nameOf(told.first_name)
  const last_name = nameOf(told.last_name)
  return {
    ...{ subject: told.subject, email, phone, first_name, last_name },
    email_at: email === null ? null : told.email_at,
    phone_at: phone === null ? null : told.phone_at,
    first_name_at: first_name === null ? null : told.first_name_at,
    last_name_at: last_name === null ? null : told.last_name_at,
  }
}

const nameOf = (name: string | null) =>
  name !== null && name.length <= LONGEST_NAME && !name.includes('\0') ? name : null
