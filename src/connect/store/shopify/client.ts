import { setTimeout as pause } from 'node:timers/promises'
import { readUpTo, retryAfterMs } from '../../../answer.ts'
import { Failure, fail } from '../../../errors.ts'
import { parseBody } from '../../../event/body.ts'
import { postJson } from '../../../post.ts'

/** The Admin API of a shop, through GraphQL. */
export interface AdminApi {
  /** `data` of the answer. Throttling, outages and lost answers are waited out, as long as `patienceMs` allows. */
  query(text: string, variables?: Record<string, unknown>): Promise<Record<string, unknown>>
}

export interface AdminOptions {
  origin: string
  accessToken: string
  /** How long after its beginning a query is asked once more. */
  patienceMs?: number
  /** Of each time that it is asked. */
  timeoutMs?: number
  signal?: AbortSignal
  /** For tests on a clock of their own. */
  clock?: { now(): number; wait(ms: number): Promise<unknown> }
  random?: () => number
}

const API_VERSION = '2026-10'
const MOST_BYTES = 32 * 1024 * 1024
const FIRST_BACKOFF_MS = 500
const LONGEST_BACKOFF_MS = 30_000
/** Whatever the store says of how long to wait. */
const [LEAST_SAID_MS, MOST_SAID_MS] = [100, 3_600_000]

/** Thrown for an answer that may be another one later. */
class Later extends Error {
  readonly afterMs: number | null
  readonly throttled: boolean

  /** `afterMs` null: the store does not say when. */
  constructor(message: string, afterMs: number | null, throttled = false, options?: ErrorOptions) {
    super(message, options)
    this.afterMs = afterMs
    this.throttled = throttled
  }
}

interface ThrottleStatus {
  currentlyAvailable?: unknown
  restoreRate?: unknown
}

interface Answer {
  data?: Record<string, unknown> | null
  errors?: { message?: string; extensions?: { code?: string } }[]
  extensions?: {
    cost?: { requestedQueryCost?: unknown; throttleStatus?: ThrottleStatus }
  }
}

/**
 * A client that keeps to what the store allows: it waits until the points that a query costs are there again, as the
 * answers say, and for as long as Retry-After says; else it backs off with jitter.
 */
export function openAdminApi(options: AdminOptions): AdminApi {
  const { patienceMs = 10 * 60_000, random = Math.random, signal } = options
  const { now, wait } = options.clock ?? {
    now: () => performance.now(),
    wait: (ms: number) => pause(ms, undefined, { signal }),
  }
  return {
    async query(text, variables = {}) {
      const began = now()
      for (let attempt = 0; ; attempt++) {
        try {
          return await ask(options, text, variables)
        } catch (error) {
          if (!(error instanceof Later)) throw error
          signal?.throwIfAborted()
          const backoff = Math.min(FIRST_BACKOFF_MS * 2 ** attempt, LONGEST_BACKOFF_MS)
          const ms = Math.ceil(error.afterMs ?? backoff * (0.5 + random() / 2))
          if (now() - began + ms > patienceMs) throw givenUp(error, ms)
          await wait(ms)
        }
      }
    },
  }
}

function givenUp(error: Later, ms: number): Failure {
  if (!error.throttled)
    return fail('upstream_unavailable', 'The store does not answer now. Try again later.', { cause: error })
  const seconds = Math.max(1, Math.ceil(ms / 1000))
  return fail('rate_limited', `The store allows no more requests now. Try again in ${seconds} seconds.`, {
    beside: {},
    headers: { 'retry-after': String(seconds) },
  })
}

async function ask(
  { origin, accessToken, timeoutMs = 20_000, signal }: AdminOptions,
  query: string,
  variables: Record<string, unknown>,
): Promise<Record<string, unknown>> {
  let response: Response
  let body: Awaited<ReturnType<typeof readUpTo>>
  try {
    response = await postJson(`${origin}/admin/api/${API_VERSION}/graphql.json`, {
      headers: { 'x-shopify-access-token': accessToken },
      body: { query, variables },
      timeoutMs,
      signal,
    })
    body = await readUpTo(response, MOST_BYTES)
  } catch (cause) {
    signal?.throwIfAborted()
    if (cause instanceof Failure) throw cause
    throw new Later('the store could not be reached', null, false, { cause })
  }
  const { status } = response
  if (status === 429) throw new Later('the store asks to wait', retryAfterOf(response), true)
  if (status >= 500) throw new Later(`the store answered ${status}`, retryAfterOf(response))
  if (status === 401 || status === 403 || status === 402 || status === 404 || status === 423)
    throw fail(
      'integration_not_connected',
      `The store refuses the access token (status ${status}). Connect it again.`,
    )
  if (status !== 200) throw fail('upstream_error', `The store answered with status ${status}.`)
  // As with a redirect, another code would say that the store refuses what it was asked.
  if (body.isCut) throw fail('upstream_unavailable', 'The answer of the store is too long.')
  return dataOf(body.bytes)
}

function retryAfterOf(response: Response): number | null {
  const ms = retryAfterMs(response)
  return ms === null ? null : bounded(ms)
}

function dataOf(bytes: Buffer): Record<string, unknown> {
  let answer: Answer
  try {
    const parsed = parseBody(bytes)
    answer = (/\d{16}/.test(bytes.toString('latin1')) ? parsed.exact() : parsed.value) as Answer
  } catch (cause) {
    throw new Later('the store did not answer with JSON', null, false, { cause })
  }
  const codes = (answer.errors ?? []).map(({ extensions }) => extensions?.code)
  if (codes.includes('THROTTLED')) throw new Later('the store throttles', restoredAfter(answer), true)
  if (codes.includes('ACCESS_DENIED'))
    throw fail(
      'forbidden',
      `The access token lacks a scope: ${answer.errors?.[0]?.message ?? 'access denied'}`,
    )
  if (codes.includes('INTERNAL_SERVER_ERROR')) throw new Later('the store failed', null)
  if (answer.errors?.length || !answer.data)
    throw fail('upstream_error', `The store refuses the query: ${answer.errors?.[0]?.message ?? 'no data'}`, {
      beside: { code: codes[0] ?? null },
    })
  return answer.data
}

/** Milliseconds until the points that the query costs are there again. */
function restoredAfter({ extensions }: Answer): number | null {
  const { requestedQueryCost, throttleStatus } = extensions?.cost ?? {}
  const { currentlyAvailable, restoreRate } = throttleStatus ?? {}
  if (!isPoints(requestedQueryCost) || !isPoints(currentlyAvailable) || !isPoints(restoreRate)) return null
  return restoreRate > 0 ? bounded(((requestedQueryCost - currentlyAvailable) / restoreRate) * 1000) : null
}

const isPoints = (value: unknown): value is number => Number.isFinite(value) && Number(value) >= 0

const bounded = (ms: number) => Math.min(Math.max(ms, LEAST_SAID_MS), MOST_SAID_MS)
