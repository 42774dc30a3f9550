import { fail } from '../errors.ts'
import { emailOf } from './email.ts'
import { isExact, isObject } from './exact.ts'
import { isNoId, isOfAnotherKind } from './id.ts'
import { MAX_PROBLEMS, type Report, walk } from './walk.ts'

/** Longest eventType, eventId and identifier, in characters. */
export const MAX_TYPE = 64
export const MAX_ID = 128
export const MAX_NAME = 256
/** The event that sets properties of a profile; email and phone among them identify it. */
export const UPDATE = 'updateProperties'
/** Names that one such event may set. */
const MAX_SET = 100
/** Digits of the shortest phone number, with its country code. */
export const LEAST_DIGITS = 7
/** The level of an event in its body: object, array, event. */
export const EVENT_LEVEL = 3

export type Sent = Record<string, unknown>

const EVENT_TYPE = /^[A-Za-z][A-Za-z0-9_]{0,63}$/
const IDENTIFIES = {
  email: (text: string) => emailOf(text) !== undefined,
  phone: (text: string) => /\p{Nd}/u.test(text),
}
const CONTROL = /[\0-\x1f\x7f]/

export const isGiven = (value: unknown) => value !== undefined && value !== null

/** Whether the store's id is a number that a double may have changed. */
export const hasInexactId = ({ storeCustomerId }: Sent) =>
  typeof storeCustomerId === 'number' && !isExact(storeCustomerId)

/** Checks eventType and eventId. */
export function checkType(sent: Sent, path: string, report: Report): void {
  if (typeof sent.eventType !== 'string' || !EVENT_TYPE.test(sent.eventType)) {
    report(
      `${path}.eventType`,
      'must be a letter followed by letters, digits or underscores, at most 64 characters',
    )
  }
  if (isGiven(sent.eventId)) checkName(sent.eventId, MAX_ID, (message) => report(`${path}.eventId`, message))
}

/** Checks the properties; true when an integer beyond 2^53 is in them. */
export function checkProperties(sent: Sent, path: string, escaped: boolean, report: Report): boolean {
  const { properties } = sent
  const at = `${path}.properties`
  if (!isObject(properties)) {
    report(at, 'must be an object')
    return false
  }
  if (sent.eventType === UPDATE && setsTooMany(properties)) {
    report(at, `must have at most ${MAX_SET} names`)
    return false
  }
  return walk(properties, at, EVENT_LEVEL + 1, escaped, report)
}

/** Checks what says who an event is about. */
export function checkIdentifiers(sent: Sent, path: string, report: Report): void {
  for (const field of ['profileId', 'anonymousId', 'email', 'phone', 'storeCustomerId']) {
    let value = sent[field]
    if (!isGiven(value)) continue
    const refuse = (message: string) => report(`${path}.${field}`, message)
    if (field === 'storeCustomerId' && typeof value === 'number') {
      if (!Number.isInteger(value) || value < 0 || value > 1e20)
        refuse('must be a string or a whole number of at most 20 digits')
      continue
    }
    if (typeof value === 'string') value = value.trim()
    if (!checkName(value, MAX_NAME, refuse)) continue
    if (field === 'email' && !IDENTIFIES.email(value as string)) refuse('must be an email address')
    if (field === 'phone' && !IDENTIFIES.phone(value as string)) refuse('must be a phone number')
  }
}

const plainText = (value: unknown): string =>
  typeof value === 'string' || typeof value === 'number' ? String(value) : ''

/** Checks that an event is about somebody, which those of pages need not be. */
export function checkNamesSomebody(sent: Sent, path: string, report: Report): void {
  const ids = ['profileId', 'anonymousId', 'storeCustomerId']
  for (const field of ids) {
    if (isNoId(plainText(sent[field])))
      report(`${path}.${field}`, 'must be an id: leave it out where there is none')
  }
  if (isOfAnotherKind(plainText(sent.storeCustomerId)))
    report(`${path}.storeCustomerId`, 'must be the id of a customer, such as gid://shopify/Customer/1')
  if ([...ids, 'email'].some((field) => isGiven(sent[field])) || setIdentifier(sent, 'email')) return
  const phone = sent.phone ?? setIdentifier(sent, 'phone')
  const digits = plainText(phone).match(/\p{Nd}/gu)?.length ?? 0
  if (!isGiven(phone))
    report(path, 'must say who it is about: profileId, anonymousId, email, phone or storeCustomerId')
  else if (digits > 0 && digits < LEAST_DIGITS)
    report(
      `${path}${isGiven(sent.phone) ? '' : '.properties'}.phone`,
      `must have at least ${LEAST_DIGITS} digits, with the country code, where nothing else says who it is about`,
    )
}

/** What an updateProperties event sets: its properties, and those in an object `properties` of theirs. */
export function setBy(sent: Sent): Sent {
  const { properties: inner, ...others } = sent
  return isObject(inner) ? { ...others, ...inner } : sent
}

/** Joins them only where there are few: a body can have tens of thousands. */
const setsTooMany = (sent: Sent): boolean =>
  [sent, sent.properties].some((set) => isObject(set) && Object.keys(set).length > MAX_SET + 1) ||
  Object.keys(setBy(sent)).length > MAX_SET

/** An email or phone that is good enough to identify, among the properties that an event sets; else undefined. */
export function setIdentifier({ eventType, properties }: Sent, field: 'email' | 'phone'): string | undefined {
  if (eventType !== UPDATE || !isObject(properties)) return undefined
  const { properties: inner } = properties
  return identifierIn((isObject(inner) && Object.hasOwn(inner, field) ? inner : properties)[field], field)
}

/** An email or phone as it identifies; undefined for what checkIdentifiers refuses. */
export function identifierIn(value: unknown, field: 'email' | 'phone'): string | undefined {
  if (typeof value !== 'string') return undefined
  const text = value.trim()
  return checkName(text, MAX_NAME, () => {}) && IDENTIFIES[field](text) ? text : undefined
}

function checkName(value: unknown, longest: number, refuse: (message: string) => void): boolean {
  const problem =
    typeof value !== 'string'
      ? 'must be a string'
      : value === ''
        ? 'must not be empty'
        : value.length > longest && [...value].length > longest
          ? `must be at most ${longest} characters`
          : CONTROL.test(value) || !value.isWellFormed()
            ? 'must not hold control characters or half of a surrogate pair'
            : null
  if (problem) refuse(problem)
  return !problem
}

/** Collects problems and refuses the request when there are any. */
export class Problems {
  readonly #rejected: { index: number; path: string; message: string }[] = []
  readonly #events = new Set<number>()

  of(index: number): Report {
    return (path, message) => {
      const isFirst = !this.#events.has(index)
      this.#events.add(index)
      if (isFirst || this.#rejected.length < MAX_PROBLEMS) this.#rejected.push({ index, path, message })
    }
  }

  refuse(events: number): void {
    const [first] = this.#rejected
    if (!first) return
    const message = `${this.#events.size} of ${events} events are not valid, so none was accepted. ${first.path}: ${first.message}.`
    throw fail('bad_request', message, { beside: { rejected: this.#rejected } })
  }
}
