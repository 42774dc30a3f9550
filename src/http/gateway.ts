import { gathered } from '../access/gathered.ts'
import { gatewayIdOf } from '../campaign/channel-http.ts'
import { type ChannelRow, openedSecret } from '../campaign/channel-settings.ts'
import { noteDelivery } from '../campaign/delivered.ts'
import { receiveMessage } from '../campaign/receive.ts'
import { isSignature, isSigned } from '../connect/custom/signature.ts'
import { fail } from '../errors.ts'
import { isObject, parseExactly } from '../event/exact.ts'
import { storable } from '../event/storable.ts'
import type { Sealing } from '../op.ts'
import type { Postgres } from '../store/postgres.ts'
import { DAY_MS, parseTime } from '../time.ts'
import { textProblem } from './json.ts'
import type { Reply } from './reply.ts'
import { type Request, refuseEncoding, refuseLength } from './request.ts'
import type { Route } from './route.ts'

const GATEWAY_PATH = '/gateway/'
const BODY_BYTES = 65_536
/** So much of a body is received: who signed it is said before its length is. */
const MOST_BYTES = 4 * BODY_BYTES
const LONGEST_TEXT = 10_000
const LONGEST_ID = 256
/** So much is kept of what it says of a failure. */
const LONGEST_ERROR = 500
/** A word older than this is one that somebody recorded. */
const MOST_AGE_MS = DAY_MS

export interface Gateways {
  postgres: Postgres
  seal: Pick<Sealing, 'open'>
  storePlatformDomain: string
  now?(): Date
}

type Row = Pick<ChannelRow, 'channel' | 'secret' | 'lookup_id'> & { brand_id: string }

/** Where gateways tell of deliveries and of messages that came in: POST /gateway/{channelId}, signed. */
export function gatewayRoutes(gateways: Gateways): Route[] {
  const { postgres, seal, now = () => new Date() } = gateways
  // Anybody may name any channel: whatever is asked meanwhile shares a statement.
  const look = gathered<Row>(async (channelIds) => {
    const rows = await postgres.pipeline.many<Row>('gateway_channels', [channelIds])
    return new Map(rows.map((row) => [row.lookup_id, row]))
  })
  return [
    {
      path: `${GATEWAY_PATH}{channelId}`,
      surface: 'webhook',
      bodyLimit: MOST_BYTES,
      encodings: 'handler',
      tooLarge: unsigned,
      methods: {
        POST: {
          async admit(request: Request) {
            const signature = request.header('x-svc-signature')
            const { channelId = '' } = request.params
            if (!isSignature(signature)) throw unsigned()
            const row = /^[\w-]{1,64}$/.test(channelId) ? await look(channelId) : undefined
            const secret = row && openedSecret(seal, row.brand_id, row)
            return async (sent) => {
              // Answered like a wrong signature, and no sooner: nobody learns which channels there are.
              if (!row || !secret || !isSigned(Buffer.from(secret.signing), sent.body, signature))
                throw unsigned()
              refuseEncoding(sent, 'unsupported_media_type')
              refuseLength(sent, BODY_BYTES)
              return await told(gateways, row, bodyOf(sent.body), now())
            }
          },
        },
      },
    },
  ]
}

const unsigned = () =>
  fail(
    'unauthorized',
    'The header x-svc-signature must be the lower-case hexadecimal HMAC-SHA256 of the body, by the signing secret of the channel',
  )

function bodyOf(bytes: Buffer): Record<string, unknown> {
  let body: unknown
  try {
    body = parseExactly(bytes.toString())
  } catch {
    body = null
  }
  if (!isObject(body)) throw fail('bad_request', 'The body must be a JSON object')
  return { ...body, id: gatewayIdOf(body.id) ?? body.id }
}

async function told(
  { postgres, storePlatformDomain }: Gateways,
  row: Row,
  body: Record<string, unknown>,
  now: Date,
): Promise<Reply> {
  const db = postgres.forBrand(row.brand_id)
  const { channel } = row
  const saidAt = timeOf(body.at, now)
  const at = new Date(Math.max(saidAt.getTime(), now.getTime() - MOST_AGE_MS))
  switch (body.type) {
    case 'message': {
      const [gatewayId, from] = [required(body, 'id', LONGEST_ID), required(body, 'from', LONGEST_ID)]
      const text = required({ text: readable(body.text) }, 'text', LONGEST_TEXT)
      const incoming = { channel, gatewayId, from, text, at, saidAt }
      const received = await receiveMessage({ db, brandId: row.brand_id, storePlatformDomain }, incoming)
      if ('deduplicated' in received) return { status: 200, body: received }
      if ('erased' in received) return { status: 200, body: { ok: true, ignored: true } }
      return { status: 200, body: { ok: true, message_id: received.messageId } }
    }
    case 'delivered':
    case 'failed': {
      const gatewayId = optional(body, 'id')
      const key = optional(body, 'idempotency_key')
      if (gatewayId === null && key === null)
        throw fail('bad_request', 'id or idempotency_key: must say which message it is')
      const error = body.type === 'failed' ? (why(body.error) ?? 'The gateway did not deliver it.') : null
      const isKnown = await noteDelivery(db, { channel, gatewayId, key, error, at })
      return { status: 200, body: isKnown ? { ok: true } : { ok: true, ignored: true } }
    }
    default:
      throw fail('bad_request', 'type: must be message, delivered or failed')
  }
}

function optional(body: Record<string, unknown>, name: string, most = LONGEST_ID): string | null {
  const text = body[name]
  if (text === undefined || text === null) return null
  if (typeof text !== 'string' || text.length > most)
    throw fail('bad_request', `${name}: must be a text of at most ${most} characters`)
  const problem = textProblem(text)
  if (problem) throw fail('bad_request', `${name}: ${problem}`)
  return text
}

/** What a gateway says of a failure, in any form: the failure counts whatever that is. */
function why(error: unknown): string | null {
  if (error === undefined || error === null) return null
  const text = typeof error === 'string' ? error : JSON.stringify(error)
  return storable(text.slice(0, LONGEST_ERROR))
}

/** What somebody wrote without what cannot be stored, such as half of an emoji at the end of a part: it may be a STOP. */
const readable = (text: unknown) => (typeof text === 'string' ? storable(text) : text)

function required(body: Record<string, unknown>, name: string, most: number): string {
  const text = optional(body, name, most)
  if (text === null || text.trim() === '') throw fail('bad_request', `${name}: is missing`)
  return text
}

/** Clocks of gateways may go wrong: never ahead of ours. */
function timeOf(given: unknown, now: Date): Date {
  if (given === undefined || given === null) return now
  const time = typeof given === 'string' ? parseTime(Buffer.from(given)) : Number.NaN
  if (Number.isNaN(time)) throw fail('bad_request', 'at: must be an ISO 8601 time')
  return new Date(Math.min(time, now.getTime()))
}
