import type { EngineResponse } from './engine.ts'

/**
 * Ends a response no faster than its client reads: the engine itself keeps what does not fit into the socket, as often
 * as a client asks without reading the answers. `done` is called once all of it is in the hands of the system; while it
 * is not, the engine closes a connection that sends another request, or that reads nothing for 10 s. True: at once.
 */
export function mendEnd(raw: EngineResponse['raw'], done: () => void): { readonly sent: boolean } {
  const end = raw.end.bind(raw)
  const outcome = { sent: true }
  raw.end = (body?: string | Buffer, closes?: boolean) => {
    if (closes || body === undefined || body.length === 0) return end(body, closes)
    const began = raw.getWriteOffset()
    const total = Buffer.byteLength(body)
    outcome.sent = raw.tryEnd(body, total)[0]
    if (outcome.sent) return raw
    const bytes = typeof body === 'string' ? Buffer.from(body) : body
    return raw.onWritable((offset) => {
      const [sent] = raw.tryEnd(bytes.subarray(offset - began), total)
      if (sent) done()
      return sent
    })
  }
  return outcome
}
