import * as v from 'valibot'
import { createFirstKey, createKey, listKeys, revokeKey, rotateKey } from '../access/key.ts'
import { KEY_SCOPES } from '../access/scopes.ts'
import { fail } from '../errors.ts'
import { id, list, named, text, texts, time, timestamp, uuid } from '../fields.ts'
import { type Ctx, type Op, op } from '../op.ts'
import * as example from './key-example.ts'

const keyFields = {
  id,
  key_prefix: v.string(),
  brand_id: id,
  scopes: texts,
  created_at: time,
  last_used_at: v.nullable(time),
  expires_at: v.nullable(time),
  revoked_at: v.nullable(time),
}
const Key = named('Key', keyFields)
const KeyWithPlaintext = named('KeyWithPlaintext', { ...keyFields, plaintext: v.string() })

const RevokedKey = named('RevokedKey', {
  id,
  key_prefix: v.string(),
  brand_id: id,
  is_staff: v.boolean(),
  expires_at: v.nullable(time),
  revoked_at: time,
  created_at: time,
})
const Revoked = named('RevokedKeys', { revoked: v.array(RevokedKey) })

const scopes = v.pipe(v.array(v.picklist(KEY_SCOPES)), v.minLength(1, 'must not be empty'))
const keyClass = v.optional(v.picklist(['cdp', 'brand-api']))
const path = v.strictObject({ id: uuid })

/** All need a sign-in of a brand admin. */
const managing = { scopes: ['keys:manage'], signIn: true, role: 'admin', tool: false } as const

/** Sessions of the web app only; staff may name another brand. */
const revoking = {
  surface: 'cdp',
  scopes: [],
  signIn: 'session',
  role: 'admin',
  errors: ['forbidden'],
  tool: false,
} as const
/** Whatever no key has is a target of which nothing is left. */
const target = v.strictObject({
  id: v.optional(text({ min: 1, max: 200 })),
  key_prefix: v.optional(text({ min: 1, max: 200 })),
  brand_id: v.optional(uuid),
})
type Target = v.InferOutput<typeof target>

interface RevokedRow {
  id: string
  key_prefix: string
  brand_id: string
  is_staff: boolean
  expires_at: Date | null
  revoked_at: Date
  created_at: Date
}

/** Revokes what is active of the target; another call finds nothing left and says so. */
async function revokeTarget(ctx: Ctx, wanted: Target) {
  const brandId = wanted.brand_id ?? ctx.brand.id
  const db = brandId === ctx.brand.id ? ctx.db : ctx.dbOf(brandId)
  if (wanted.id === undefined && wanted.key_prefix === undefined)
    throw fail('bad_request', 'Send id or key_prefix')
  const rows = await db.many<RevokedRow>('keys_revoke', [wanted.id ?? null, wanted.key_prefix ?? null])
  if (rows.length > 0) await ctx.everywhere()
  return {
    revoked: rows.map((row) => ({
      ...row,
      expires_at: row.expires_at?.toISOString() ?? null,
      revoked_at: row.revoked_at.toISOString(),
      created_at: row.created_at.toISOString(),
    })),
  }
}

export const keyOps: readonly Op[] = [
  op({
    ...managing,
    name: 'list_keys',
    route: 'GET /v1/keys',
    what: 'All API keys of the brand, newest first, without their values.',
    input: { query: v.strictObject({ key_class: keyClass }) },
    output: list(Key),
    example: example.LISTED,
    run: async ({ db }, { query }) => ({ data: await listKeys(db, query.key_class), next_cursor: null }),
  }),

  op({
    ...managing,
    name: 'create_key',
    route: 'POST /v1/keys',
    errors: ['conflict'],
    what: 'Make an API key. Its value is in this answer only; the keys that there are stay active.',
    input: {
      body: v.strictObject({
        scopes,
        key_class: v.optional(v.picklist(['cdp'])),
        name: v.optional(text({ min: 1, max: 200 })),
        expires_at: v.optional(timestamp),
        first_key: v.optional(v.boolean()),
      }),
    },
    output: KeyWithPlaintext,
    example: example.CREATED,
    run: async ({ db, caller, now }, { body }) => {
      if (body.expires_at && body.expires_at <= now)
        throw fail('bad_request', 'expires_at must be in the future')
      const create = body.first_key ? createFirstKey : createKey
      return await create(db, {
        scopes: body.scopes,
        keyClass: body.key_class,
        name: body.name,
        expiresAt: body.expires_at,
        isStaff: caller.kind !== 'key' && caller.isStaff,
      })
    },
  }),

  op({
    ...managing,
    name: 'rotate_key',
    route: 'POST /v1/keys/{id}/rotate',
    errors: ['conflict'],
    effect: 'destroy',
    what: 'Replace an active key by a new one. The old value stops working before the answer is sent.',
    input: { path, body: v.strictObject({ scopes: v.optional(scopes), key_class: keyClass }) },
    output: KeyWithPlaintext,
    example: example.ROTATED,
    run: async ({ db, everywhere }, { path, body }) => {
      const key = await rotateKey(db, path.id, { scopes: body.scopes, keyClass: body.key_class })
      await everywhere()
      return key
    },
  }),

  op({
    ...managing,
    name: 'revoke_key',
    route: 'DELETE /v1/keys/{id}',
    what: 'Revoke an active key. It stops working before the answer is sent.',
    input: { path, query: v.strictObject({ key_class: keyClass }) },
    output: Key,
    example: example.DELETED,
    run: async ({ db, everywhere }, { path, query }) => {
      const key = await revokeKey(db, path.id, query.key_class)
      await everywhere()
      return key
    },
  }),

  op({
    ...revoking,
    name: 'delete_cdp_keys',
    route: 'DELETE /cdp/keys',
    what: 'Revoke the active keys with an id or a prefix. Lists those that it revoked.',
    input: { query: target },
    output: Revoked,
    example: example.TARGET_IN_QUERY,
    run: (ctx, { query }) => revokeTarget(ctx, query),
  }),

  op({
    ...revoking,
    name: 'revoke_cdp_keys',
    route: 'POST /cdp/keys/revoke',
    effect: 'destroy',
    what: 'The same as DELETE /cdp/keys, with the target in the body.',
    input: { body: target },
    output: Revoked,
    example: example.TARGET_IN_BODY,
    run: (ctx, { body }) => revokeTarget(ctx, body),
  }),
]
