import { Agent, type IncomingMessage, request } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { eventually } from '../fixtures/eventually.ts'
import type { RandomSource } from '../fixtures/random.ts'
import { DOORS, type Door, type Sender, type Sending } from './doors.ts'
import type { Journal, Outcome } from './journal.ts'

export interface Clients {
  /** Fails when a client does: an answer that nobody may get. */
  readonly running: Promise<unknown>
  /** How often an attempt ended so: its door, and a status or the code of a broken connection. */
  readonly seen: Map<string, number>
  /** Resolves once every door has acknowledged so many requests more. */
  served(more?: number): Promise<void>
  /** Lets every client end its attempt. */
  stop(): Promise<void>
}

const ANSWER_MS = 15_000
/** Of clients that were told to come again. */
const BACKOFF_MS = 20

/**
 * Clients that send events by every door without a pause and write down what they were told. One that was not
 * acknowledged usually sends the same events again, as it should, and sometimes gives up, so that refusals stand.
 */
export function startClients(
  url: string,
  senders: readonly Sender[],
  journal: Journal,
  random: RandomSource,
): Clients {
  const agent = new Agent({ keepAlive: true })
  const seen = new Map<string, number>()
  const acknowledged = new Map(DOORS.map((door) => [door, 0]))
  let running = true

  const client = async (door: Door, sender: Sender) => {
    const brandId = sender.brand.id
    while (running) {
      const sending = door.make(sender, random, journal)
      journal.sent(brandId, sending)
      let wasUnknown = false
      for (let again = true; again; ) {
        const { outcome, what } = await attempt(agent, url, door, sending)
        seen.set(`${door.name} ${what}`, (seen.get(`${door.name} ${what}`) ?? 0) + 1)
        journal.answered(brandId, sending, outcome, wasUnknown)
        wasUnknown ||= outcome === 'unknown'
        again = outcome !== 'acknowledged' && running && random.chance(0.8)
        if (outcome === 'acknowledged') acknowledged.set(door, (acknowledged.get(door) ?? 0) + 1)
        else await pause(BACKOFF_MS)
      }
    }
  }
  const clients = Promise.all(
    senders.flatMap((sender) =>
      DOORS.flatMap((door) => Array.from({ length: door.clients }, () => client(door, sender))),
    ),
  )
  // Whoever stops them hears of it; until then it must not end the process.
  clients.catch(() => {})
  return {
    seen,
    running: clients,
    served: async (more = 1) => {
      const before = new Map(acknowledged)
      const isServed = (door: Door) => (acknowledged.get(door) ?? 0) >= (before.get(door) ?? 0) + more
      await eventually(async () => DOORS.every(isServed), { withinMs: 120_000 })
    },
    stop: async () => {
      running = false
      await clients
      agent.destroy()
    },
  }
}

async function attempt(
  agent: Agent,
  url: string,
  door: Door,
  sending: Sending,
): Promise<{ outcome: Outcome; what: string }> {
  let status: number | undefined
  let text: string
  try {
    ;({ status, text } = await post(agent, url, sending))
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? String(error)
    // Nobody listened: nothing was sent.
    return { outcome: code === 'ECONNREFUSED' ? 'refused' : 'unknown', what: code }
  }
  const outcome = door.heard(status, JSON.parse(text))
  if (!outcome) throw new Error(`${door.name}: ${status} ${text}`)
  return { outcome, what: outcome === 'unknown' ? `${status}, unknown` : `${status}` }
}

function post(
  agent: Agent,
  url: string,
  { path, headers, body }: Sending,
): Promise<{ status?: number; text: string }> {
  return new Promise((resolve, reject) => {
    const all = { ...headers, 'content-length': Buffer.byteLength(body) }
    const by = { method: 'POST', agent, headers: all }
    const sent = request(`${url}${path}`, by, (answer: IncomingMessage) => {
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
