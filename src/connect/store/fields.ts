import { decimalOf, digitsOf, isObject, numberOf } from '../../event/exact.ts'
import { isNoId, storeIdOf } from '../../event/id.ts'
import { storable } from '../../event/storable.ts'
import { parseTime } from '../../time.ts'
import { amountOf } from './money.ts'

/** Thrown for a payload that is not what its topic says; the message names the field and holds nothing of its value. */
export class Unreadable extends Error {}

const LONGEST_ID = 255
const LONGEST_TEXT = 2_000
export const MOST_ENTRIES = 5_000
/** Of a number: 1e308 is short where it is sent and has 309. */
const MOST_DIGITS = 64
/** With amounts of 11 digits, what a line comes to still is an amount of Postgres and the lake. */
const MOST_QUANTITY = 99_999
const [EARLIEST, LATEST] = [Date.UTC(1990, 0), Date.UTC(2200, 0)]
const CONTROL = /[\0-\x1f\x7f]/

/** Milliseconds since 1970 of a time as a store sends it; NaN for what is none. */
export function timeOf(text: string): number {
  const time = parseTime(Buffer.from(text))
  return time >= EARLIEST && time < LATEST ? time : Number.NaN
}

type Json = Record<string, unknown>

/**
 * The fields of an object of a payload, read as what they should be. Absent, null and empty mean the same. Made of a
 * body whose integers beyond 2^53 are raw (`Body.exact`), so that ids keep every digit.
 */
export class Fields {
  readonly #value: Json
  readonly #path: string

  constructor(value: unknown, path = '') {
    if (!isObject(value)) throw new Unreadable(`${path || 'the body'} must be an object`)
    this.#value = value
    this.#path = path
  }

  at(name: string): string {
    return this.#path ? `${this.#path}.${name}` : name
  }

  has(name: string): boolean {
    return this.#get(name) !== undefined
  }

  /** It is there, if only to say that there is nothing. */
  says(name: string): boolean {
    return Object.hasOwn(this.#value, name)
  }

  #get(name: string): unknown {
    const value = Object.hasOwn(this.#value, name) ? this.#value[name] : undefined
    return value === null || value === '' ? undefined : value
  }

  #wrong(name: string, what: string): never {
    throw new Unreadable(`${this.at(name)} must be ${what}`)
  }

  #required<Value>(name: string, value: Value | null): Value {
    return value === null ? this.#wrong(name, 'given') : value
  }

  /** A number or text as text, without what Postgres refuses; cut to what a column is for. */
  text(name: string): string | null {
    return asText(this.#whole(name))
  }

  /** Of texts with commas between them each as `text` has it. */
  separated(name: string): string[] {
    return this.#bounded(name, this.#whole(name).split(',')).flatMap((text) => asText(text) ?? [])
  }

  /** A text that is of no use unless it is whole; null for one that is too long. */
  address(name: string): string | null {
    return asAddress(this.#whole(name))
  }

  #whole(name: string): string {
    const value = this.#get(name) ?? ''
    const text = short(decimalOf(value)) ?? (typeof value === 'number' ? String(value) : value)
    return typeof text === 'string' ? text : this.#wrong(name, 'a text')
  }

  id(name: string): string {
    const id = this.#required(name, this.#idAsSent(name))
    return isNoId(id) ? this.#wrong(name, 'an id: 0 and words such as undefined or guest stand for none') : id
  }

  /** Of a part of a record, such as a line, whose place may be its id. */
  partId(name: string): string {
    return this.#required(name, this.#idAsSent(name))
  }

  /** Null also for what stands for no id: strangers who share one would be one customer. */
  idOrNull(name: string): string | null {
    const id = this.#idAsSent(name)
    return id !== null && isNoId(id) ? null : id
  }

  /** The digits of a number, a text, or the last part of `gid://shopify/Order/1`. */
  #idAsSent(name: string): string | null {
    const value = this.#get(name)
    if (value === undefined) return null
    const text = short(digitsOf(value)) ?? (Number.isSafeInteger(value) ? String(value) : value)
    if (typeof text !== 'string' || text.length > LONGEST_ID || CONTROL.test(text) || !text.isWellFormed())
      return this.#wrong(name, `an id of at most ${LONGEST_ID} characters`)
    return storeIdOf(text) || null
  }

  amount(name: string): string {
    return this.#required(name, this.amountOrNull(name))
  }

  amountOrNull(name: string): string | null {
    const value = this.#get(name)
    if (value === undefined) return null
    const text = typeof value === 'string' ? value.trim() : String(numberOf(value) ?? '')
    return amountOf(text) ?? this.#wrong(name, 'an amount such as "12.30"')
  }

  /** A quantity, unless something else is counted. */
  whole(name: string, most = MOST_QUANTITY): number | null {
    const value = this.#get(name)
    if (value === undefined) return null
    if (typeof value !== 'number' || !Number.isInteger(value) || value < 0 || value > most)
      return this.#wrong(name, `a whole number up to ${most}`)
    return value
  }

  time(name: string): string {
    return this.#required(name, this.timeOrNull(name))
  }

  timeOrNull(name: string): string | null {
    const value = this.#get(name)
    if (value === undefined) return null
    const time = typeof value === 'string' ? timeOf(value) : Number.NaN
    if (Number.isNaN(time)) return this.#wrong(name, 'a time from 1990 on, in ISO 8601')
    return new Date(time).toISOString()
  }

  currency(name: string): string | null {
    const code = this.text(name)
    return code === null || /^[A-Z]{3}$/.test(code) ? code : this.#wrong(name, 'a currency code')
  }

  flag(name: string): boolean {
    const value = this.#get(name)
    return value === undefined || typeof value === 'boolean'
      ? value === true
      : this.#wrong(name, 'true or false')
  }

  /** One of some words; upper case and lower case are the same. */
  choice<Word extends string>(name: string, words: readonly Word[]): Word {
    return this.#required(name, this.choiceOrNull(name, words))
  }

  choiceOrNull<Word extends string>(name: string, words: readonly Word[]): Word | null {
    const text = this.text(name)?.toLowerCase()
    if (text === undefined) return null
    return words.find((word) => word === text) ?? this.#wrong(name, `one of ${words.join(', ')}`)
  }

  /** The same, but with this for one of its fields. */
  with(name: string, value: Fields | readonly Fields[]): Fields {
    const raw = value instanceof Fields ? value.#value : value.map((entry) => entry.#value)
    return new Fields({ ...this.#value, [name]: raw }, this.#path)
  }

  object(name: string): Fields | null {
    const value = this.#get(name)
    return value === undefined ? null : new Fields(value, this.at(name))
  }

  list(name: string): Fields[] {
    return this.#array(name).map((entry, index) => new Fields(entry, `${this.at(name)}[${index}]`))
  }

  texts(name: string): string[] {
    return this.#strings(name).flatMap((entry) => asText(entry) ?? [])
  }

  addresses(name: string): string[] {
    return this.#strings(name).flatMap((entry) => asAddress(entry) ?? [])
  }

  #strings(name: string): string[] {
    return this.#array(name).filter((entry) => typeof entry === 'string')
  }

  #array(name: string): unknown[] {
    const value = this.#get(name)
    return this.#bounded(name, value === undefined ? [] : value)
  }

  #bounded<List>(name: string, value: List): List & unknown[] {
    if (!Array.isArray(value) || value.length > MOST_ENTRIES)
      return this.#wrong(name, `a list of at most ${MOST_ENTRIES} entries`)
    return value
  }
}

const asText = (given: string): string | null =>
  given.replaceAll('\0', '').slice(0, LONGEST_TEXT).toWellFormed().trim() || null

function asAddress(given: string): string | null {
  const text = storable(given).trim()
  return text !== '' && text.length <= LONGEST_TEXT ? text : null
}

const short = (digits: string | undefined): string | undefined =>
  digits !== undefined && digits.length <= MOST_DIGITS ? digits : undefined
