import { hash, randomBytes } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { v7 } from 'uuid'
import { fail } from '../errors.ts'
import type { Db, KeyCaller, Statements } from '../op.ts'
import { classHas, currentScope, keyScopes } from './scopes.ts'

export type KeyClass = KeyCaller['keyClass']

/** A key as the API shows it. */
export interface KeyRecord {
  id: string
  key_prefix: string
  brand_id: string
  scopes: string[]
  created_at: string
  last_used_at: string | null
  expires_at: string | null
  revoked_at: string | null
}

export type NamedKey = KeyRecord & { name: string | null }

const PREFIX: Record<KeyClass, string> = { cdp: 'svc_', 'brand-api': 'svc_ba_' }
const SHAPE = /^svc_(?:ba_)?[0-9A-Za-z]{49}$/
const CHECKSUM = 6
const SHOWN = 12
const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/** A new key: class prefix, 32 random bytes in 43 base62 digits, CRC32 of all that in 6. */
export function makeKey(keyClass: KeyClass): string {
  const text = PREFIX[keyClass] + base62(BigInt(`0x${randomBytes(32).toString('hex')}`), 43)
  return text + checksum(text)
}

/** False for what cannot be a key of ours; needs no look-up. */
export function isKey(text: string): boolean {
  return SHAPE.test(text) && text.slice(-CHECKSUM) === checksum(text.slice(0, -CHECKSUM))
}

/** What is stored of a key, in hexadecimal. A plain hash is enough: 32 random bytes cannot be guessed. */
export const keyHash = (key: string) => hash('sha256', key, 'hex')

/** In numbers, unlike base62, since it is made for each request. */
function checksum(text: string): string {
  let digits = ''
  for (let rest = crc32(text); digits.length < CHECKSUM; rest = Math.trunc(rest / 62))
    digits = DIGITS[rest % 62] + digits
  return digits
}

function base62(number: bigint, digits: number): string {
  let text = ''
  for (let rest = number; text.length < digits; rest /= 62n) text = DIGITS[Number(rest % 62n)] + text
  return text
}

export interface NewKey {
  scopes: readonly string[]
  keyClass?: KeyClass
  name?: string | null
  expiresAt?: Date | null
  isStaff?: boolean
}

export type KeyWithPlaintext = KeyRecord & { plaintext: string }

/** Makes a key of the brand that `db` is bound to. Its plaintext is in this answer and nowhere else. */
export async function createKey(
  db: Statements,
  { scopes, keyClass = 'cdp', name = null, expiresAt = null, isStaff = false }: NewKey,
): Promise<KeyWithPlaintext> {
  const carried = keyScopes(scopes, keyClass)
  const plaintext = makeKey(keyClass)
  const stored = [plaintext.slice(0, SHOWN), Buffer.from(keyHash(plaintext), 'hex'), keyClass]
  const row = await db.one<KeyRow>('key_insert', [v7(), ...stored, name, carried, expiresAt, isStaff])
  return { ...keyRecord(row), plaintext }
}

/** As `createKey`; throws `conflict` when the brand has an active key of the class. */
export function createFirstKey(db: Db, key: NewKey): Promise<KeyWithPlaintext> {
  return db.tx(async (tx) => {
    await tx.one('keys_lock')
    const { active } = await tx.one<{ active: boolean }>('key_active', [key.keyClass ?? 'cdp'])
    if (active) throw fail('conflict', 'The brand has an active key of this class already')
    return await createKey(tx, key)
  })
}

/** Keys of the brand that `db` is bound to, newest first. */
export async function listKeys(db: Statements, keyClass: KeyClass | null = null): Promise<KeyRecord[]> {
  return (await db.many<KeyRow>('keys_of_brand', [keyClass])).map(keyRecord)
}

/** The same with what each was made for, which records of the API do not say. */
export async function listNamedKeys(db: Statements): Promise<NamedKey[]> {
  const rows = await db.many<KeyRow & { name: string | null }>('keys_of_brand', [null])
  return rows.map((row) => ({ ...keyRecord(row), name: row.name }))
}

/** Revokes an active key (of a class, where one is given); throws `not_found` when there is none. */
export async function revokeKey(
  db: Statements,
  id: string,
  keyClass: KeyClass | null = null,
): Promise<KeyRecord> {
  return keyRecord(await db.one<KeyRow>('key_revoke', [id, keyClass]))
}

/** Replaces an active key by a new one with its name, class, expiry and, unless others are given, scopes. */
export function rotateKey(
  db: Db,
  id: string,
  { scopes, keyClass = null }: { scopes?: readonly string[]; keyClass?: KeyClass | null },
): Promise<KeyWithPlaintext> {
  return db.tx(async (tx) => {
    const old = await tx.one<RevokedRow>('key_revoke', [id, keyClass])
    if (old.expires_at && old.expires_at <= old.revoked_at)
      throw fail('conflict', 'The key has expired: create another one')
    return await createKey(tx, {
      scopes: scopes ?? old.scopes.map(currentScope).filter((scope) => classHas(old.key_class, scope)),
      keyClass: old.key_class,
      name: old.name,
      expiresAt: old.expires_at,
      isStaff: old.is_staff,
    })
  })
}

type Times = 'created_at' | 'last_used_at' | 'expires_at' | 'revoked_at'
type KeyRow = Omit<KeyRecord, Times> & { created_at: Date } & Record<
    Exclude<Times, 'created_at'>,
    Date | null
  >
type RevokedRow = KeyRow & { revoked_at: Date; key_class: KeyClass; name: string | null; is_staff: boolean }

const keyRecord = (row: KeyRow): KeyRecord => ({
  id: row.id,
  key_prefix: row.key_prefix,
  brand_id: row.brand_id,
  scopes: row.scopes,
  created_at: row.created_at.toISOString(),
  last_used_at: row.last_used_at?.toISOString() ?? null,
  expires_at: row.expires_at?.toISOString() ?? null,
  revoked_at: row.revoked_at?.toISOString() ?? null,
})
