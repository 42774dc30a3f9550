import type { Check } from '../evaluate.ts'

/** Whether two JSON values are the same one; the order of names does not count. */
export function equal(one: unknown, other: unknown, check: Check): boolean {
  check.spend(1)
  if (one === other) return true
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) return false
  if (Array.isArray(one) !== Array.isArray(other)) return false
  const keys = Object.keys(one)
  if (keys.length !== Object.keys(other).length) return false
  return keys.every(
    (key) =>
      Object.hasOwn(other, key) &&
      equal((one as Record<string, unknown>)[key], (other as Record<string, unknown>)[key], check),
  )
}

/** A text that equal JSON values have in common, and no others. */
export function canonical(value: unknown, check: Check): string {
  check.spend(1)
  if (typeof value === 'string') check.spend(value.length / 20)
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  if (Array.isArray(value)) return `[${value.map((one) => canonical(one, check)).join()}]`
  const entries = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1))
  return `{${entries.map(([key, one]) => `${JSON.stringify(key)}:${canonical(one, check)}`).join()}}`
}
