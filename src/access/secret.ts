import { randomBytes } from 'node:crypto'
import type { Statements } from '../op.ts'
import type { Seal } from './seal.ts'

const BYTES = 32

/**
 * A secret of the service by its name, made on first use and shared by all processes. With a seal it is stored sealed,
 * and one that was stored as it is gets sealed.
 */
export async function serviceSecret(
  pipeline: Statements,
  name: string,
  seal?: Seal,
  make: () => Buffer = () => randomBytes(BYTES),
): Promise<Buffer> {
  const place = `the secret ${name}`
  const find = () => pipeline.maybe<{ value: Buffer; sealed: boolean }>('secret_value', [name])
  let row = await find()
  if (!row) {
    const value = make()
    await pipeline.run('secret_make', [name, seal?.seal(value, place) ?? value, seal !== undefined])
    row = await find()
  }
  if (!row) throw new Error(`${place} was removed while it was read`)
  if (row.sealed) {
    if (!seal) throw new Error(`${place} is sealed: SECRET_KEY is needed to read it`)
    return seal.open(row.value, place)
  }
  if (seal) await pipeline.run('secret_seal', [name, seal.seal(row.value, place)])
  return row.value
}
