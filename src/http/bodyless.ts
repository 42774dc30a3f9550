import type { EngineResponse } from './engine.ts'

/**
 * Ends a response without a body (HEAD, 204, 304) so that the connection lives on: the engine itself sends a length of
 * 2^63 where there is none, and closes the connection after any length but 0.
 */
export function mendBodylessEnd(raw: EngineResponse['raw']): void {
  const end = raw.endWithoutBody.bind(raw)
  raw.endWithoutBody = (length?: number, closes?: boolean) => {
    if (closes) return end(length ?? 0, true)
    if (length !== undefined) raw.writeHeader('Content-Length', String(length))
    return end()
  }
}
