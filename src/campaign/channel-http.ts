import { readUpTo, retryAfterMs } from '../answer.ts'
import { digitsOf, parseExactly } from '../event/exact.ts'
import { postJson } from '../post.ts'
import type { Channel, Parcel, Sent } from './channel.ts'

/** Settings of an HTTP SMS gateway. */
export interface GatewaySettings {
  url: string
  /** Number or name that messages come from; null: the gateway's own. */
  from: string | null
}

/** An answer that does not come within this time is waited for no longer. */
const TIMEOUT_MS = 10_000
const LONGEST_ERROR = 500
const ANSWER_BYTES = 65_536

/**
 * A gateway that takes `POST { to, from, text }` with the header Idempotency-Key: however often it is sent, the
 * message is taken once. `{ "id": "…" }` in its answer is what its callbacks call the message.
 */
export function httpChannel(
  { url, from }: GatewaySettings,
  token: string | null,
  timeoutMs = TIMEOUT_MS,
): Channel {
  return {
    takesOnce: 'by_key',
    async send({ key, to, body }: Parcel, signal) {
      try {
        const response = await postJson(url, {
          headers: {
            'idempotency-key': key,
            ...(token !== null && { authorization: `Bearer ${token}` }),
          },
          body: { to, ...(from !== null && { from }), text: body },
          timeoutMs,
          signal,
        })
        const { bytes } = await readUpTo(response, ANSWER_BYTES)
        return outcomeOf(response, bytes.toString())
      } catch (error) {
        if (signal?.aborted) throw error
        const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error
        return {
          is: 'later',
          error: cause instanceof Error ? cause.message : String(cause),
          unanswered: true,
          mayHave: !isUnreached(cause),
        }
      }
    },
  }
}

/** Codes of connections that were never made. */
const UNREACHED = [
  'ECONNREFUSED',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
  'UND_ERR_CONNECT_TIMEOUT',
]

const isUnreached = (cause: unknown) => UNREACHED.includes((cause as { code?: string } | null)?.code ?? '')

function outcomeOf(response: Response, text: string): Sent {
  const { status } = response
  if (response.ok) return { is: 'sent', providerMessageId: idOf(text) }
  const error = `${status} ${text}`.slice(0, LONGEST_ERROR).trim()
  // 409: an attempt with this key is under way. 401 and 403: a token is put right sooner or later.
  const isPassing = status >= 500 || [401, 403, 408, 409, 425, 429].includes(status)
  if (!isPassing) return { is: 'refused', error }
  const afterMs = retryAfterMs(response)
  return { is: 'later', error, ...(afterMs !== null && { afterMs }) }
}

function idOf(text: string): string | null {
  try {
    const { id } = parseExactly(text) as { id?: unknown }
    return gatewayIdOf(id)?.slice(0, 256) ?? null
  } catch {
    return null
  }
}

/** A gateway's id of a message, with every digit: some count their messages. Undefined for what is none. */
export const gatewayIdOf = (id: unknown): string | undefined =>
  typeof id === 'string' || typeof id === 'number' ? String(id) : digitsOf(id)
