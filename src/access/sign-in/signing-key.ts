import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { calculateJwkThumbprint, type JWK } from 'jose'
import type { Statements } from '../../op.ts'
import type { Seal } from '../seal.ts'
import { serviceSecret } from '../secret.ts'

export const ALGORITHM = 'ES256'

/** The key pair that signs access tokens. */
export interface SigningKey {
  id: string
  private: KeyObject
  public: KeyObject
  /** The private key, with `kid`, `alg` and `use`. */
  jwk: JWK
}

/** Made on first use, kept sealed in Postgres, the same for all processes. */
export async function signingKey(pipeline: Statements, seal: Seal): Promise<SigningKey> {
  const content = await serviceSecret(pipeline, 'sign-in-key', seal, make)
  const key = createPrivateKey({ key: JSON.parse(content.toString()) as JsonKey, format: 'jwk' })
  const plain = key.export({ format: 'jwk' }) as JWK
  const id = await calculateJwkThumbprint(plain)
  return {
    id,
    private: key,
    public: createPublicKey(key),
    jwk: { ...plain, kid: id, alg: ALGORITHM, use: 'sig' },
  }
}

type JsonKey = import('node:crypto').JsonWebKey

const make = () =>
  Buffer.from(
    JSON.stringify(generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ format: 'jwk' })),
  )
