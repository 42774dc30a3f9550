import { emailOf } from '../event/email.ts'
import { customerIdOf, storeIdOf, WHOLE } from '../event/id.ts'
import { phoneOf } from './channel.ts'
import { mentionsOf } from './mentions.ts'
import { KINDS } from './profile.ts'

/** The kinds of identifier with their values, normalised. */
export type Identifiers = Record<(typeof KINDS)[number], string[]>

/** Finds what names any of some people in what was stored as it was sent. */
export interface People {
  /** Whether a line of the event log could be about one of them; tombstones then say whether it is. */
  mayBeNamedBy(line: NamingLine): boolean
  /**
   * Whether a document holds an identifier of one of them anywhere; short ids count under keys of ids only. Ids are whole
   * values, addresses and numbers may stand within a text or a key.
   */
  areIn(document: unknown): boolean
  /** The same of a text that is no document. */
  areInText(text: string): boolean
}

export interface NamingLine {
  store_customer_id?: string
  profile_id?: string
  email?: string
  phone?: string
  anonymous_id?: string
}

/** An id that is shorter could be any number of a document. */
const TELLING_LENGTH = 6
/** Digits at the end of a phone number that spellings of it share; an extension may follow. */
const PHONE_TAIL = 6
/** As `phoneOf` reads them: of each script the zero is at a multiple of 16. */
const DIGITS = /[0-9\uff10-\uff19\u0660-\u0669\u06f0-\u06f9]/g
/** What is longer is no phone number to `phoneOf` either. */
const LONGEST_PHONE = 250
const ID_KEY = /(^|_)(id|customer|user|email|phone)s?$|Id$/i

export const noIdentifiers = (): Identifiers =>
  Object.fromEntries(KINDS.map((kind) => [kind, [] as string[]])) as Identifiers

/** `region` is that of phone numbers without a country code. */
export function peopleWith(identifiers: Identifiers, region: string): People {
  const emails = new Set(identifiers.email)
  const phones = new Set(identifiers.phone)
  const tails = new Set(identifiers.phone.map((phone) => phone.slice(-PHONE_TAIL)))
  const stored = new Set(identifiers.store_customer_id.flatMap((id) => [id, storeIdOf(id)]))
  const profiles = new Set(identifiers.profile_id)
  const visitors = new Set(identifiers.anonymous_id)
  const ids = new Set([...stored, ...profiles, ...visitors])
  const isMentionedIn = mentionsOf(identifiers.email, identifiers.phone, region)

  /** To read every text as a number takes 10 to 30 µs each. */
  const mayBePhone = (text: string): boolean => {
    if (tails.size === 0 || text.length > LONGEST_PHONE) return false
    const digits = Array.from(text.matchAll(DIGITS), ([digit]) => digit.charCodeAt(0) % 16).join('')
    for (let end = PHONE_TAIL; end <= digits.length; end++)
      if (tails.has(digits.slice(end - PHONE_TAIL, end))) return true
    return false
  }
  const isIdentifier = (text: string, key: string): boolean => {
    if (ids.has(text)) return text.length >= TELLING_LENGTH || key === '' || ID_KEY.test(key)
    if (text.includes('@')) return emails.has(emailOf(text) ?? '')
    // As files and the store's own API write ids.
    const id = storeIdOf(text.replace(WHOLE, '$1'))
    if (id !== text) return stored.has(id) && (customerIdOf(text) !== undefined || ID_KEY.test(key))
    return mayBePhone(text) && phones.has(phoneOf(text, region) ?? '')
  }
  const areIn = (value: unknown, key: string): boolean => {
    if (typeof value === 'string') return isIdentifier(value.trim(), key) || isMentionedIn(value)
    if (typeof value === 'number') return isIdentifier(String(value), key || 'number')
    if (Array.isArray(value)) return value.some((entry) => areIn(entry, key))
    if (typeof value !== 'object' || value === null) return false
    return Object.entries(value).some(
      ([name, entry]) => isMentionedIn(name) || areIn(entry, name === 'id' ? key || name : name),
    )
  }
  return {
    mayBeNamedBy: ({ store_customer_id, profile_id, email, phone, anonymous_id }) =>
      (store_customer_id !== undefined && stored.has(storeIdOf(store_customer_id))) ||
      (profile_id !== undefined && (profiles.has(profile_id.trim()) || stored.has(lastPart(profile_id)))) ||
      (email !== undefined && emails.has(email.trim().toLowerCase())) ||
      (phone !== undefined && mayBePhone(phone)) ||
      (anonymous_id !== undefined && visitors.has(anonymous_id.trim())),
    areIn: (document) => areIn(document, 'document'),
    areInText: (text) =>
      isMentionedIn(text) || [...ids].some((id) => id.length >= TELLING_LENGTH && text.includes(id)),
  }
}

const lastPart = (id: string) => id.trim().slice(id.trim().lastIndexOf(':') + 1)
