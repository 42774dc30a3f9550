import { randomBytes } from 'node:crypto'
import type { Statements } from '../op.ts'
import type { Seal } from './seal.ts'

const BYTES = 32

/** What the seal of a secret is bound to. */
export const placeOf = (name: string): string => `the secret ${name}`

/**
 * A secret of the service by its name, made on first use, stored sealed and shared by all processes. One from before
 * there was a seal is sealed when it is read.
 */
export async function serviceSecret(
  pipeline: Statements,
  name: string,
  seal: Seal,
  make: () => Buffer = () => randomBytes(BYTES),
): Promise<Buffer> {
  const place = placeOf(name)
  const find = () => pipeline.maybe<{ value: Buffer; sealed: boolean }>('secret_value', [name])
  let row = await find()
  if (!row) {
    await pipeline.run('secret_make', [name, seal.seal(make(), place)])
    row = await find()
  }
  if (!row) throw new Error(`${place} was removed while it was read`)
  if (row.sealed) return seal.open(row.value, place)
  await pipeline.run('secret_seal', [name, seal.seal(row.value, place)])
  return row.value
}
