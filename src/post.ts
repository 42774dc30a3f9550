import { fail } from './errors.ts'

export interface Posting {
  headers: Record<string, string>
  body: object
  /** For the answer with its body. */
  timeoutMs: number
  signal?: AbortSignal
}

/** What a service of somebody else answers to JSON. A redirect is not followed: it throws `upstream_unavailable`. */
export async function postJson(
  url: string,
  { headers, body, timeoutMs, signal }: Posting,
): Promise<Response> {
  const late = AbortSignal.timeout(timeoutMs)
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
    // With 'error' no signal ends a body once garbage was collected since its headers (nodejs/undici issue 4627).
    redirect: 'manual',
    signal: signal ? AbortSignal.any([signal, late]) : late,
  })
  if (response.status < 300 || response.status > 399) return response
  await response.body?.cancel()
  throw fail(
    'upstream_unavailable',
    `${new URL(url).host} answered with a redirect (status ${response.status}), which is not followed.`,
  )
}
