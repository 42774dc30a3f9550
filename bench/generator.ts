import autocannon from 'autocannon'
import { bodies, idPlaces, type Shape, stamp } from './bodies.ts'

/** What the process that makes the load is told. */
export interface LoadOrder extends Shape {
  url: string
  headers: Record<string, string>
  connections: number
  seconds: number
}

export interface LoadResult {
  requests: number
  seconds: number
  p50: number
  p99: number
  failed: number
  /** Share of one core that the generator itself took. */
  cpu: number
}

interface Iterator {
  nextRequest(): { requestBuffer: Buffer }
}

// In place, since autocannon's setupRequest builds the whole request anew each time, on a core that the server shares.
function setupClient(client: unknown): void {
  const { requestIterator } = client as { requestIterator: Iterator }
  const next = requestIterator.nextRequest
  const placesOf = new WeakMap<Buffer, number[]>()
  requestIterator.nextRequest = function () {
    const request = next.call(this)
    let places = placesOf.get(request.requestBuffer)
    if (!places) {
      places = idPlaces(request.requestBuffer)
      placesOf.set(request.requestBuffer, places)
    }
    stamp(request.requestBuffer, places)
    return request
  }
}

async function run(order: LoadOrder): Promise<LoadResult> {
  const before = process.cpuUsage()
  const started = performance.now()
  const result = await autocannon({
    url: order.url,
    method: 'POST',
    connections: order.connections,
    duration: order.seconds,
    headers: { ...order.headers, 'content-type': 'application/json' },
    requests: bodies(order).map((body) => ({ body })),
    setupClient,
  })
  const { user, system } = process.cpuUsage(before)
  return {
    requests: result['2xx'],
    seconds: result.duration,
    p50: result.latency.p50,
    p99: result.latency.p99,
    failed: result.non2xx + result.errors + result.timeouts,
    cpu: (user + system) / 1000 / (performance.now() - started),
  }
}

process.on('message', (order: LoadOrder) => {
  run(order).then(
    (result) => process.send?.({ result }, () => process.disconnect?.()),
    (error: Error) => process.send?.({ error: error.stack }, () => process.disconnect?.()),
  )
})
