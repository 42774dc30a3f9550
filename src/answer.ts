/** No service is waited for any longer at its word. */
const MOST_RETRY_AFTER_MS = 3_600_000

/** The body of an answer up to so many bytes, and whether there is more of it. */
export async function readUpTo(
  response: Response,
  mostBytes: number,
): Promise<{ bytes: Buffer; isCut: boolean }> {
  const parts: Uint8Array[] = []
  let length = 0
  for await (const part of response.body ?? []) {
    parts.push(part)
    length += part.length
    if (length > mostBytes) break
  }
  return { bytes: Buffer.concat(parts).subarray(0, mostBytes), isCut: length > mostBytes }
}

/** How long Retry-After says to wait, in seconds or until a date; null: it does not say. */
export function retryAfterMs({ headers }: Response): number | null {
  const said = headers.get('retry-after')
  if (!said) return null
  const seconds = Number(said)
  const ms = Number.isNaN(seconds) ? Date.parse(said) - Date.now() : seconds * 1_000
  return ms >= 0 ? Math.min(ms, MOST_RETRY_AFTER_MS) : null
}
