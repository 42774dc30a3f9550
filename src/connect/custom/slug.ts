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

/** Throws `conflict` for the name of a built-in event type or trigger. */
export function refuseReserved(field: string, name: string): void {
  if (RESERVED_TYPES.has(name))
    throw fail('conflict', `${field}: "${name}" is a built-in event type or trigger: choose another one`)
}
