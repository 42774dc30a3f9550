import { connect, type Socket } from 'node:net'
import { bodies, idPlaces, type Shape, stamp } from './bodies.ts'

/** GETs of these paths in turn. */
export interface Reads {
  paths: readonly string[]
}

/** One of several that send; `rate` in requests a second. */
interface Paced {
  name: string
  headers: Record<string, string>
  rate: number
}

export type EventSender = Paced & Shape
export type OpenSender = EventSender | (Paced & Reads)

export interface OpenOrder {
  host: string
  port: number
  /** That bodies go to. */
  path?: string
  seconds: number
  senders: OpenSender[]
}

export interface OpenResult {
  name: string
  /** Requests that were due, by what became of them; `unsent`: there was no connection left for them. */
  offered: number
  ok: number
  refused: number
  failed: number
  unsent: number
  /** Of those answered 2xx, from when they were due. */
  p50: number
  p95: number
  p99: number
  seconds: number
}

/** Of each sender, so that one whose answers are late takes none from the others. */
const MOST_CONNECTIONS = 4_096
/** Open before the schedule begins, as those of clients that have sent before. */
const OPEN_CONNECTIONS = 32
/** Answers that come later than this after the end count as failed. */
const PATIENCE_MS = 10_000

interface Due {
  sender: State
  at: number
}

interface State {
  idle: Connection[]
  open: number
  requests: { bytes: Buffer; places: number[] }[]
  rate: number
  turn: number
  offered: number
  latencies: number[]
  refused: number
  unsent: number
}

/** Sends at the moments of a fixed schedule, whatever the answers do: a slow server gets no less to do. */
async function run(order: OpenOrder): Promise<OpenResult[]> {
  const states = order.senders.map((sender) => stateOf(order, sender))
  let waiting = 0

  const open = (sender: State): Connection => {
    const { idle } = sender
    sender.open++
    return new Connection(order, {
      free: (one) => idle.push(one),
      answered: () => waiting--,
      closed: (one) => {
        sender.open--
        const at = idle.indexOf(one)
        if (at >= 0) idle.splice(at, 1)
      },
    })
  }
  const send = (due: Due) => {
    const { idle } = due.sender
    const free = idle.pop() ?? (due.sender.open < MOST_CONNECTIONS ? open(due.sender) : undefined)
    if (free) waiting++
    else due.sender.unsent++
    free?.send(due)
  }

  for (const state of states) {
    const ready = Array.from({ length: OPEN_CONNECTIONS }, () => open(state))
    await Promise.all(ready.map((one) => one.connected))
    state.idle.push(...ready)
  }
  const began = performance.now()
  const end = began + order.seconds * 1_000
  for (let now = began; now < end; now = performance.now()) {
    for (const state of states) {
      const target = ((Math.min(now, end) - began) / 1_000) * state.rate
      while (state.offered < target)
        send({ sender: state, at: began + (state.offered++ / state.rate) * 1_000 })
    }
    await new Promise((resolve) => setTimeout(resolve, 1))
  }
  for (const late = performance.now() + PATIENCE_MS; waiting > 0 && performance.now() < late; )
    await new Promise((resolve) => setTimeout(resolve, 10))
  return order.senders.map(({ name }, n) => resultOf(name, states[n] as State, order.seconds))
}

function stateOf(order: OpenOrder, sender: OpenSender): State {
  return {
    idle: [],
    open: 0,
    requests: 'paths' in sender ? readsOf(order, sender) : sendsOf(order, sender),
    rate: sender.rate,
    turn: 0,
    offered: 0,
    latencies: [],
    refused: 0,
    unsent: 0,
  }
}

function sendsOf(order: OpenOrder, sender: EventSender): State['requests'] {
  return bodies(sender).map((body) => {
    const length = Buffer.byteLength(body)
    const headers = { 'content-type': 'application/json', ...sender.headers, 'content-length': length }
    const bytes = Buffer.from(`${headOf(order, `POST ${order.path}`, headers)}${body}`)
    return { bytes, places: idPlaces(bytes) }
  })
}

const readsOf = (order: OpenOrder, { paths, headers }: Paced & Reads): State['requests'] =>
  paths.map((path) => ({ bytes: Buffer.from(headOf(order, `GET ${path}`, headers)), places: [] }))

function headOf({ host }: OpenOrder, line: string, headers: Record<string, string | number>): string {
  const lines = Object.entries({ host, ...headers }).map(([name, value]) => `${name}: ${value}`)
  return `${line} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`
}

function resultOf(name: string, state: State, seconds: number): OpenResult {
  const sorted = Float64Array.from(state.latencies).sort()
  const at = (share: number) => Math.round((sorted[Math.floor(sorted.length * share)] ?? 0) * 100) / 100
  const { offered, refused, unsent } = state
  const ok = sorted.length
  return {
    name,
    offered,
    ok,
    refused,
    unsent,
    failed: offered - ok - refused - unsent,
    p50: at(0.5),
    p95: at(0.95),
    p99: at(0.99),
    seconds,
  }
}

interface Owner {
  free(connection: Connection): void
  answered(): void
  closed(connection: Connection): void
}

/** One request at a time; reads of an answer its status and where it ends. */
class Connection {
  readonly connected: Promise<unknown>
  readonly #socket: Socket
  readonly #owner: Owner
  #under: Due | undefined
  #text = ''

  constructor({ host, port }: OpenOrder, owner: Owner) {
    this.#owner = owner
    this.#socket = connect(port, host).setNoDelay()
    this.#socket.setEncoding('latin1')
    this.connected = new Promise((resolve) => this.#socket.once('connect', resolve).once('close', resolve))
    this.#socket.on('data', (text: string) => this.#read(text))
    this.#socket.on('error', () => {})
    this.#socket.on('close', () => {
      if (this.#under) owner.answered()
      owner.closed(this)
    })
  }

  send(due: Due): void {
    this.#under = due
    const { requests } = due.sender
    const request = requests[due.sender.turn++ % requests.length] as State['requests'][number]
    stamp(request.bytes, request.places)
    // A copy, since the next request stamps the same bytes, maybe before these are written.
    this.#socket.write(Buffer.from(request.bytes))
  }

  #read(text: string): void {
    this.#text += text
    const end = this.#text.indexOf('\r\n\r\n')
    if (end < 0) return
    const length = Number(/content-length: (\d+)/i.exec(this.#text)?.[1] ?? 0)
    if (this.#text.length < end + 4 + length) return
    const status = Number(this.#text.slice(9, 12))
    const closes = /connection: close/i.test(this.#text.slice(0, end))
    this.#text = ''
    const due = this.#under as Due
    this.#under = undefined
    if (status < 300) due.sender.latencies.push(performance.now() - due.at)
    else if (status === 503 || status === 429) due.sender.refused++
    this.#owner.answered()
    if (!closes) this.#owner.free(this)
  }
}

process.on('message', (order: OpenOrder) => {
  run(order).then(
    (result) => process.send?.({ result }, () => process.exit()),
    (error: Error) => process.send?.({ error: error.stack }, () => process.exit()),
  )
})
