import type { Config } from '../config.ts'
import { fail } from '../errors.ts'
import type { Statements } from '../op.ts'
import { keyFile, knownSeal, openSeal, type Seal } from './seal.ts'
import { placeOf, serviceSecret } from './secret.ts'

interface Sealed {
  postgres: { pipeline: Statements }
  config: Pick<Config, 'secretKey' | 'dataDir'>
}

/** Says of a database which key it is sealed with, before anything else in it is sealed. */
const KNOWN_BY = 'seal'

/**
 * The seal of a service. `conflict`, and no key made, when its database was sealed with another one: what is sealed with
 * a second key would be lost with either.
 */
export async function serviceSeal(app: Sealed): Promise<Seal> {
  const problem = await sealProblem(app)
  if (problem !== null) throw fail('conflict', problem)
  const seal = openSeal(app.config)
  await serviceSecret(app.postgres.pipeline, KNOWN_BY, seal)
  return seal
}

/** Why the key here does not open what the database holds, and what to do; null when it does, or nothing is sealed. */
export async function sealProblem({ postgres, config }: Sealed): Promise<string | null> {
  const secret = await postgres.pipeline.maybe<{ name: string; value: Buffer }>('secret_sealed')
  if (!secret) return null
  const seal = knownSeal(config)
  if (seal && opens(seal, secret)) return null
  const file = keyFile(config)
  const found = config.secretKey === null ? file : 'SECRET_KEY'
  const wrong = seal ? `${found} is not the key` : `There is no ${file}, the key`
  return `${wrong} that the secrets of this database are sealed with. Copy DATA_DIR/secret-key from the service that the database or its backup comes from to ${file}, or set SECRET_KEY to its key.`
}

function opens(seal: Seal, { name, value }: { name: string; value: Buffer }): boolean {
  try {
    seal.open(value, placeOf(name))
    return true
  } catch {
    return false
  }
}
