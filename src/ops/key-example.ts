import type { Example } from '../op.ts'

/** One key, as the documents show it. */

const ID = '0193d2a8-1f4c-7e02-b6d9-84c1a3f5e720'

const KEY = {
  id: ID,
  key_prefix: 'svc_4fTq9LmZ',
  brand_id: '0193d2a1-0b7e-7c44-9a38-6f2e5d1c4b90',
  scopes: ['segments:read', 'customers:read'],
  created_at: '2026-11-20T08:00:12.000Z',
  last_used_at: '2026-11-21T09:14:58.000Z',
  expires_at: null,
  revoked_at: null,
}

const NEW = {
  ...KEY,
  last_used_at: null,
  plaintext: 'svc_4fTq9LmZ0pX7uVbN3cRkYwE8sHdGj2aTiQo5zMfK1yBx0DrCvPnWu',
}

const REVOKED = {
  revoked: [
    {
      id: ID,
      key_prefix: KEY.key_prefix,
      brand_id: KEY.brand_id,
      is_staff: false,
      expires_at: null,
      revoked_at: '2026-11-21T09:20:00.000Z',
      created_at: KEY.created_at,
    },
  ],
}

export const LISTED: Example = { output: { data: [KEY], next_cursor: null } }
export const CREATED: Example = { body: { scopes: KEY.scopes, name: 'Warehouse' }, output: NEW }
export const ROTATED: Example = { path: { id: ID }, output: NEW }
export const DELETED: Example = {
  path: { id: ID },
  output: { ...KEY, revoked_at: '2026-11-21T09:20:00.000Z' },
}
export const TARGET_IN_QUERY: Example = { query: { id: ID }, output: REVOKED }
export const TARGET_IN_BODY: Example = { body: { id: ID }, output: REVOKED }
