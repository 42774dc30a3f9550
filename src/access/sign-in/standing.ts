import type { Brand, Role, Statements } from '../../op.ts'
import type { Announced } from '../invalidation.ts'
import type { Lease } from '../lease.ts'
import { type Remembered, remembered } from '../remembered.ts'

/** How a session or a grant stands right now: whose it is, for which brand and in which role. */
export interface Standing {
  /** Of the session or grant. */
  id: string
  userId: string
  email: string
  role: Role
  isStaff: boolean
  brand: Brand
  /** Null for a session. */
  clientId: string | null
  /** In milliseconds. */
  expiresAt: number
}

interface StandingRow extends Omit<Brand, 'created_at'> {
  standing_id: string
  user_id: string
  email: string
  role: Role
  is_staff: boolean
  client_id: string | null
  expires_at: Date
  created_at: Date
}

export type Standings = Remembered<Standing>

/** Standings by the id of a session or grant; none once it ended, or its user or membership did. */
export function createStandings(
  pipeline: Statements,
  kind: 'session' | 'grant',
  now: () => number = Date.now,
  lease?: Lease,
): Standings {
  const read = async (id: string) => {
    const row = await pipeline.maybe<StandingRow>(`${kind}_standing`, [id])
    return row && standing(row)
  }
  return remembered(read, now, lease)
}

/** Forgets what a change of a row may have touched. */
export function forgetStandings(standings: Standings, kind: Announced, id: string): void {
  if (kind === 'key') return
  standings.forget((one) =>
    kind === 'user' ? one.userId === id : kind === 'brand' ? one.brand.id === id : one.id === id,
  )
}

function standing(row: StandingRow): Standing {
  const { standing_id, user_id, email, role, is_staff, client_id, expires_at, created_at, ...brand } = row
  return {
    id: standing_id,
    userId: user_id,
    email,
    role,
    isStaff: is_staff,
    brand: { ...brand, created_at: created_at.toISOString() },
    clientId: client_id,
    expiresAt: expires_at.getTime(),
  }
}
