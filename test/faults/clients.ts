import { randomUUID } from 'node:crypto'
import { Agent, type IncomingMessage, request } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import type { RandomSource } from '../fixtures/random.ts'
import type { Journal, Outcome } from './journal.ts'

export interface Sender {
  brandId: string
  key: string
}

export interface Clients {
  /** Fails when a client does: an answer that nobody may get. */
  readonly running: Promise<unknown>
  /** How often an attempt ended so: a status, or the code of a broken connection. */
  readonly seen: Map<string, number>
  /** Lets every client end its attempt. */
  stop(): Promise<void>
}

const CLIENTS_OF_A_BRAND = 4
const ANSWER_MS = 15_000
/** Of clients that were told to come again. */
const BACKOFF_MS = 20

/**
 * Clients that send batches without a pause and write down what they were told. One that was not acknowledged usually
 * sends the same events again, as it should, and sometimes gives up, so that refusals stand.
 */
export function startClients(
  url: string,
  senders: readonly Sender[],
  journal: Journal,
  random: RandomSource,
): Clients {
  const agent = new Agent({ keepAlive: true })
  const seen = new Map<string, number>()
  let running = true

  const client = async ({ brandId, key }: Sender) => {
    while (running) {
      const ids = random.list(1, 8, randomUUID)
      const body = JSON.stringify({ events: ids.map((eventId) => eventOf(eventId, random)) })
      journal.sent(brandId, ids)
      let wasUnknown = false
      for (let again = true; again; ) {
        const { outcome, what } = await attempt(agent, url, key, body)
        seen.set(what, (seen.get(what) ?? 0) + 1)
        journal.answered(brandId, ids, outcome, wasUnknown)
        wasUnknown ||= outcome === 'unknown'
        again = outcome !== 'acknowledged' && running && random.chance(0.8)
        if (outcome !== 'acknowledged') await pause(BACKOFF_MS)
      }
    }
  }
  const clients = Promise.all(
    senders.flatMap((sender) => Array.from({ length: CLIENTS_OF_A_BRAND }, () => client(sender))),
  )
  // Whoever stops them hears of it; until then it must not end the process.
  clients.catch(() => {})
  return {
    seen,
    running: clients,
    stop: async () => {
      running = false
      await clients
      agent.destroy()
    },
  }
}

const eventOf = (eventId: string, random: RandomSource) => ({
  eventType: 'product_viewed',
  eventId,
  anonymousId: `visitor-${random.below(200)}`,
  properties: { product_id: String(random.below(1_000)), title: 'x'.repeat(random.below(300)) },
})

async function attempt(
  agent: Agent,
  url: string,
  key: string,
  body: string,
): Promise<{ outcome: Outcome; what: string }> {
  let status: number | undefined
  let text: string
  try {
    ;({ status, text } = await post(agent, url, key, body))
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? String(error)
    // Nobody listened: nothing was sent.
    return { outcome: code === 'ECONNREFUSED' ? 'refused' : 'unknown', what: code }
  }
  if (status === 200) return { outcome: 'acknowledged', what: '200' }
  const answer = JSON.parse(text)
  if (status === 503 && answer.error?.code === 'unavailable' && !('failed' in answer))
    return { outcome: 'refused', what: '503' }
  if (status === 503 && Object.keys(answer).join() === 'message')
    return { outcome: 'unknown', what: '503, unknown' }
  throw new Error(`${status} ${text}`)
}

function post(
  agent: Agent,
  url: string,
  key: string,
  body: string,
): Promise<{ status?: number; text: string }> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${key}`, 'content-length': Buffer.byteLength(body) }
    const sent = request(url, { method: 'POST', agent, headers }, (answer: IncomingMessage) => {
      let text = ''
      answer.setEncoding('utf8')
      answer.on('data', (part: string) => {
        text += part
      })
      answer.on('end', () => resolve({ status: answer.statusCode, text }))
      answer.on('error', reject)
    })
    sent.setTimeout(ANSWER_MS, () =>
      sent.destroy(Object.assign(new Error('no answer'), { code: 'NO_ANSWER' })),
    )
    sent.on('error', reject)
    sent.end(body)
  })
}
