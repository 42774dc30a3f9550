import { Format, Has, Match } from 'tcompare'

/**
 * Loaded before each test file: what a pattern says is said whole. As they come, `t.match`, `t.has` and their strict forms
 * take a list for the beginning of a longer one, so that nothing says who else is there, and `t.match` a word for a part of
 * another ("subscribed" of "unsubscribed"), a Date for any other, and an empty object for all. Several words may still be
 * part of a longer message; a part of one word is written as a RegExp.
 */
const lists = Object.getOwnPropertyDescriptor(Format.prototype, 'objectAsArray')
Object.defineProperty(Has.prototype, 'objectAsArray', { ...lists, configurable: true })

const test = Match.prototype.test
Match.prototype.test = function (this: Match) {
  const { object, expect } = this
  if (typeof object === 'string' && typeof expect === 'string' && this.parent && !expect.includes(' '))
    return object === expect
  if (object instanceof Date && expect instanceof Date) return object.getTime() === expect.getTime()
  if (isEmpty(expect) && isPlain(object) && !isEmpty(object)) return false
  return test.call(this)
}

const isPlain = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype
const isEmpty = (value: unknown) => isPlain(value) && Object.keys(value).length === 0
