import type { EngineResponse } from './engine.ts'

/** The least that the system takes of an answer at once. */
const AT_ONCE_BYTES = 16 * 1024

export interface Ending {
  status: number
  isHead: boolean
  payload: string | Buffer | undefined
  /** Closes the connection after it, a long one by asking the client to. */
  closes: boolean
}

/**
 * Ends a response whose status and headers are written, no faster than its client reads: the engine's own end keeps
 * what does not fit into the socket, as often as a client asks without reading the answers. `done` is called once, when
 * all of it is in the hands of the system; until then the engine closes a connection that sends another request, or
 * that reads nothing for 10 s.
 */
export function endResponse(response: EngineResponse, ending: Ending, done: () => void): void {
  const { status, isHead, payload, closes } = ending
  if (isHead || status === 204 || status === 304) {
    endWithoutBody(response, isHead && payload !== undefined ? Buffer.byteLength(payload) : undefined, closes)
    done()
  } else if (payload === undefined || payload.length === 0) {
    response.end('', closes)
    done()
  } else if (closes && Buffer.byteLength(payload) <= AT_ONCE_BYTES) {
    response.end(payload, true)
    done()
  } else {
    // The engine closes by itself only what it ends by itself. A client that is told so closes, or the drain does.
    if (closes) response.writeHeader('Connection', 'close')
    endAsRead(response, payload, done)
  }
}

function endAsRead(response: EngineResponse, payload: string | Buffer, done: () => void): void {
  const began = response.getWriteOffset()
  const total = Buffer.byteLength(payload)
  if (response.tryEnd(payload, total)[0]) {
    done()
    return
  }
  const bytes = typeof payload === 'string' ? Buffer.from(payload) : payload
  response.onWritable((offset) => {
    const [sent] = response.tryEnd(bytes.subarray(offset - began), total)
    if (sent) done()
    return sent
  })
}

/** The connection lives on: the engine would close it after a length other than 0 that it is told. */
function endWithoutBody(response: EngineResponse, length: number | undefined, closes: boolean): void {
  if (closes) {
    response.endWithoutBody(length ?? 0, true)
    return
  }
  if (length !== undefined) response.writeHeader('Content-Length', String(length))
  response.endWithoutBody()
}
