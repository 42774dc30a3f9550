import { createHmac, hash, timingSafeEqual } from 'node:crypto'
import { fail } from '../errors.ts'
import type { CallCursors, Op } from '../op.ts'

/** What a cursor is good for. */
export interface Binding {
  /** Name of the operation; the same for its route and its tool. */
  endpoint: string
  brand: string
  filters?: Readonly<Record<string, unknown>>
}

export type CursorProblem = 'other_brand' | 'invalid'

export interface Cursors {
  seal(binding: Binding, position: unknown): string
  /** The position as it was sealed; throws a 400 for every cursor that was not issued for this call. */
  open<Position>(binding: Binding, cursor: string): Position
  /** As `open`, but says whether it is an authentic cursor of another brand. */
  read(binding: Binding, cursor: string): { position: unknown } | { problem: CursorProblem }
}

const VERSION = 1
const MAC = 32
const MOST_CHARACTERS = 4096

/** `secrets`: the first one seals, all of them open. */
export function createCursors(...secrets: [Buffer, ...Buffer[]]): Cursors {
  const cursors: Cursors = {
    seal(binding, position) {
      const content = Buffer.from(JSON.stringify([...bound(binding), position]))
      return Buffer.concat([Buffer.of(VERSION), mac(secrets[0], content), content]).toString('base64url')
    },

    read(binding, cursor) {
      const content = authentic(secrets, cursor)
      if (!content) return { problem: 'invalid' }
      const [endpoint, brand, filters, position] = JSON.parse(content.toString()) as unknown[]
      const wanted = bound(binding)
      if (brand !== wanted[1]) return { problem: 'other_brand' }
      if (endpoint !== wanted[0] || filters !== wanted[2]) return { problem: 'invalid' }
      return { position }
    },

    open<Position>(binding: Binding, cursor: string) {
      const read = cursors.read(binding, cursor)
      if ('position' in read) return read.position as Position
      throw fail(
        'bad_request',
        'cursor was not issued for this list and these filters: start again without it',
      )
    },
  }
  return cursors
}

/** The cursors that an operation sees: bound to its name and the caller's brand. */
export const callCursors = (
  cursors: Cursors,
  { name: endpoint, tellsForeignCursors }: Pick<Op, 'name' | 'tellsForeignCursors'>,
  brand: string,
): CallCursors => ({
  open<Position>(cursor: string | undefined, filters?: Binding['filters']) {
    if (cursor === undefined) return null
    const binding = { endpoint, brand, filters }
    const read = tellsForeignCursors ? cursors.read(binding, cursor) : null
    if (read && 'problem' in read && read.problem === 'other_brand')
      throw fail('forbidden', 'cursor was issued to another brand')
    return cursors.open<Position>(binding, cursor)
  },
  seal: (position, filters) => cursors.seal({ endpoint, brand, filters }, position),
})

const bound = ({ endpoint, brand, filters }: Binding) => [endpoint, brand, filtersHash(filters)] as const

/** Filters that are absent or undefined count alike, in any order. */
function filtersHash(filters: Binding['filters'] = {}): string {
  const entries = Object.entries(filters).filter(([, value]) => value !== undefined && value !== null)
  return hash('sha256', JSON.stringify(entries.sort(([a], [b]) => (a < b ? -1 : 1))), 'base64url').slice(
    0,
    22,
  )
}

const mac = (secret: Buffer, content: Buffer) =>
  createHmac('sha256', secret).update(Buffer.of(VERSION)).update(content).digest()

function authentic(secrets: readonly Buffer[], cursor: string): Buffer | undefined {
  if (cursor.length > MOST_CHARACTERS) return undefined
  const bytes = Buffer.from(cursor, 'base64url')
  // Decoding is lenient: only the one spelling that was issued counts.
  if (bytes.toString('base64url') !== cursor || bytes.length <= 1 + MAC || bytes[0] !== VERSION)
    return undefined
  const content = bytes.subarray(1 + MAC)
  const sent = bytes.subarray(1, 1 + MAC)
  return secrets.some((secret) => timingSafeEqual(mac(secret, content), sent)) ? content : undefined
}
