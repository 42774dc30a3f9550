import { randomBytes } from 'node:crypto'
import { fail } from '../../errors.ts'
import { RESERVED_TYPES } from '../../event/types.ts'

export const KEY = /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/
export const KEY_SAYS =
  'must be 1 to 64 letters, digits, hyphens or underscores and begin with a letter or digit'

/** A key made of a name, such as `loyalty_points` of "Loyalty points"; one by chance where nothing of it is left. */
export function keyOf(name: string): string {
  const words = name
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .match(/[a-z0-9]+/g)
  return words?.join('_').slice(0, 64) ?? `source_${randomBytes(4).toString('hex')}`
}

const LOWER_CASE = new Set([...RESERVED_TYPES].map((type) => type.toLowerCase()))

/** Throws `conflict` for an event type that is built in, or a trigger. */
export function refuseReservedType(type: string): void {
  if (RESERVED_TYPES.has(type)) throw reserved('type', type)
}

/** As for types, in whatever case: so keys are compared. */
export function refuseReservedKey(key: string): void {
  if (LOWER_CASE.has(key.toLowerCase())) throw reserved('key', key)
}

const reserved = (field: string, name: string) =>
  fail('conflict', `${field}: "${name}" is a built-in event type or trigger: choose another one`)
