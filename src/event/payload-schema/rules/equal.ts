import { decimalOf } from '../../exact.ts'
import type { Check } from '../evaluate.ts'

/** Whether two JSON values are the same one; the order of names does not count. */
export function equal(first: unknown, second: unknown, check: Check): boolean {
  check.spend(1)
  const [one, other] = [check.inFull(first), check.inFull(second)]
  if (typeof one === 'string' || typeof other === 'string') return equalTexts(one, other, check)
  if (one === other) return true
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) return false
  if (Array.isArray(one) && Array.isArray(other))
    return one.length === other.length && one.every((item, index) => equal(item, other[index], check))
  if (Array.isArray(one) || Array.isArray(other)) return false
  const names = check.namesOf(one)
  if (names.length !== check.namesOf(other).length) return false
  return names.every(
    (name) =>
      Object.hasOwn(other, name) &&
      equal((one as Record<string, unknown>)[name], (other as Record<string, unknown>)[name], check),
  )
}

function equalTexts(one: unknown, other: unknown, check: Check): boolean {
  if (typeof one !== 'string' || typeof other !== 'string' || one.length !== other.length) return false
  check.spendText(one)
  return one === other
}

/** A text that equal JSON values have in common, and no others. */
export function canonical(value: unknown, check: Check): string {
  const parts: string[] = []
  write(value, parts, check)
  return parts.join('')
}

/** All into one list: texts within texts would copy what is deep within again at each level. */
function write(value: unknown, parts: string[], check: Check): void {
  check.spend(1)
  if (typeof value === 'string') check.spendText(value, WRITING)
  if (typeof value === 'number' && !Number.isSafeInteger(value)) check.spend(LONG_NUMBER)
  if (typeof value !== 'object' || value === null) {
    parts.push(JSON.stringify(value))
    return
  }
  const digits = decimalOf(value)
  if (digits !== undefined) {
    check.spend(LONG_INTEGER)
    parts.push(digits)
    return
  }
  if (Array.isArray(value)) {
    parts.push('[')
    for (const item of value) {
      write(item, parts, check)
      parts.push(',')
    }
    parts.push(']')
    return
  }
  parts.push('{')
  for (const name of sortedNames(value, check)) {
    parts.push(JSON.stringify(name), ':')
    write((value as Record<string, unknown>)[name], parts, check)
    parts.push(',')
  }
  parts.push('}')
}

/** How many times a text is gone through to be escaped, joined to others and put in a set. */
const WRITING = 8

/** For the shortest digits of a number that are enough, which are not easily found. */
const LONG_NUMBER = 2
/** For the digits of an integer beyond 2^53, which may be written as 1e308. */
const LONG_INTEGER = 12

function sortedNames(value: object, check: Check): string[] {
  const names = check.namesOf(value)
  // Every name is compared with so many others, at worst to its end.
  const times = Math.ceil(Math.log2(names.length + 1))
  check.spend((names.length * times) / 4)
  for (const name of names) check.spendText(name, WRITING + times)
  return names.sort()
}
