import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'
import {
  closeSync,
  existsSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import type { Config } from '../config.ts'
import { errorCode } from '../errors.ts'

/** Seals what Postgres holds, so that a copy of the database alone gives no secrets away. */
export interface Seal {
  /** `place` names what is sealed; it opens under the same name only, and so cannot be moved. */
  seal(content: Buffer, place: string): Buffer
  /** Throws for anything that was not sealed with this key for this place. */
  open(sealed: Buffer, place: string): Buffer
}

const VERSION = 1
const NONCE = 12
const TAG = 16

/** AES-256-GCM under a key derived from the text. */
export function createSeal(secretKey: string): Seal {
  const key = Buffer.from(hkdfSync('sha256', secretKey, '', 'recoup seal', 32))
  return {
    seal(content, place) {
      const nonce = randomBytes(NONCE)
      const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(place))
      const sealed = Buffer.concat([cipher.update(content), cipher.final()])
      return Buffer.concat([Buffer.of(VERSION), nonce, cipher.getAuthTag(), sealed])
    },

    open(sealed, place) {
      if (sealed[0] !== VERSION || sealed.length < 1 + NONCE + TAG)
        throw new Error(`${place} is not sealed in a way that this version knows`)
      const nonce = sealed.subarray(1, 1 + NONCE)
      const tag = sealed.subarray(1 + NONCE, 1 + NONCE + TAG)
      const decipher = createDecipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(place)).setAuthTag(tag)
      try {
        return Buffer.concat([decipher.update(sealed.subarray(1 + NONCE + TAG)), decipher.final()])
      } catch (cause) {
        throw new Error(`SECRET_KEY is not the one that ${place} was sealed with`, { cause })
      }
    },
  }
}

type Keyed = Pick<Config, 'secretKey' | 'dataDir'>

/** Where a key lies that SECRET_KEY does not give. */
export const keyFile = ({ dataDir }: Pick<Config, 'dataDir'>): string => join(dataDir, 'secret-key')

/** The seal of SECRET_KEY, or of the key in the data folder, which is made when there is none. */
export function openSeal(config: Keyed): Seal {
  return createSeal(config.secretKey ?? keyOf(config))
}

/** The same, undefined when there is no key: none is made. */
export function knownSeal(config: Keyed): Seal | undefined {
  if (config.secretKey === null && !existsSync(keyFile(config))) return undefined
  return openSeal(config)
}

function keyOf({ dataDir }: Keyed): string {
  const path = keyFile({ dataDir })
  try {
    return readKey(path)
  } catch (error) {
    if (errorCode(error) !== 'ENOENT') throw error
  }
  mkdirSync(dataDir, { recursive: true, mode: 0o700 })
  const unfinished = `${path}.${randomBytes(6).toString('hex')}`
  const file = openSync(unfinished, 'wx', 0o600)
  try {
    writeSync(file, `${randomBytes(32).toString('base64url')}\n`)
    fsyncSync(file)
    // Fails when another process was first: its key is the one.
    linkSync(unfinished, path)
  } catch (error) {
    if (errorCode(error) !== 'EEXIST') throw error
  } finally {
    closeSync(file)
    rmSync(unfinished)
  }
  return readKey(path)
}

function readKey(path: string): string {
  const key = readFileSync(path, 'utf8').trim()
  if (key.length < 32) throw new Error(`${path} must hold at least 32 characters`)
  return key
}
