import { randomBytes } from 'node:crypto'
import type { Statements } from '../op.ts'

const BYTES = 32

/** A secret of the service by its name, made on first use and shared by all processes. */
export async function serviceSecret(pipeline: Statements, name: string): Promise<Buffer> {
  await pipeline.run('secret_make', [name, randomBytes(BYTES)])
  const { value } = await pipeline.one<{ value: Buffer }>('secret_value', [name])
  return value
}
