/** Every error code that a client can see, with its HTTP status. The contract's codes; clients rely on them. */
export const STATUS = {
  bad_request: 400,
  payload_too_large: 413,
  unsupported_media_type: 415,
  method_not_allowed: 405,
  unauthorized: 401,
  legacy_credential_not_supported: 401,
  insufficient_scope: 403,
  forbidden: 403,
  beta_not_enabled: 403,
  integration_not_connected: 403,
  not_found: 404,
  conflict: 409,
  limit_reached: 409,
  unprocessable: 422,
  rate_limited: 429,
  internal: 500,
  upstream_error: 502,
  unavailable: 503,
  upstream_unavailable: 503,
} as const

export type Code = keyof typeof STATUS

/** What the reply calls a failure: the contract names 413 and 415 `bad_request`. */
const PUBLIC_CODE: Partial<Record<Code, string>> = {
  payload_too_large: 'bad_request',
  unsupported_media_type: 'bad_request',
}

/** What a client sees as `code`. */
export const publicCode = (code: Code): string => PUBLIC_CODE[code] ?? code

export interface FailureDetail {
  cause?: unknown
  /** Fields that stand beside `error` in the reply, such as `rejected`, `accepted`, `failed`. */
  beside?: Record<string, unknown>
  headers?: Record<string, string>
}

/** An expected failure: a code that clients rely on and a text that helps a person. */
export class Failure extends Error {
  readonly code: Code
  readonly beside: Record<string, unknown>
  readonly headers: Record<string, string>

  constructor(code: Code, message: string, detail: FailureDetail = {}) {
    super(message, detail.cause === undefined ? undefined : { cause: detail.cause })
    this.name = 'Failure'
    this.code = code
    this.beside = detail.beside ?? {}
    this.headers = detail.headers ?? {}
  }

  get status(): number {
    return STATUS[this.code]
  }

  get publicCode(): string {
    return publicCode(this.code)
  }
}

export const fail = (code: Code, message: string, detail?: FailureDetail) =>
  new Failure(code, message, detail)

export const noSuchRecord = () => fail('not_found', 'There is no such record.')

/** SQLSTATEs after which Postgres may answer again without a change: it is away, full or shedding. */
const TRANSIENT = /^(08|53|55006|55P03|57(?!014)|58|40001|40P01|25006|XX000)/
const SOCKET = /^(ECONN|EHOST|ENET|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|CONNECTION_|CONNECT_TIMEOUT)/

/** True when Postgres is away, starting, shutting down, full or out of connections. */
export function isUnavailable(error: unknown): boolean {
  const code = errorCode(error)
  return code !== undefined && (TRANSIENT.test(code) || SOCKET.test(code))
}

/** True when a statement was stopped: it took too long. Postgres is there, and does others. */
export const isCancelled = (error: unknown): boolean => errorCode(error) === '57014'

/** True when others held a lock for longer than it may be waited for. */
export const isLockTimeout = (error: unknown): boolean => errorCode(error) === '55P03'

/** True when the same may succeed later without a change. */
export const isPassing = (error: unknown): boolean => isUnavailable(error) || isCancelled(error)

/**
 * True when another transaction was first: a deadlock, or a row or partition that it made or removed. What is there now is
 * seen by a retry.
 */
export const isOvertaken = (error: unknown): boolean =>
  OVERTAKEN.test(errorCode(error) ?? '') || isMisplaced(error)

const OVERTAKEN = /^(40|23503$|23505$)/

/** A check of a table without a name is that of a partition: while the row waited, it came to belong to another one. */
function isMisplaced(error: unknown): boolean {
  const { table_name, constraint_name } = (error ?? {}) as { table_name?: string; constraint_name?: string }
  return errorCode(error) === '23514' && table_name !== undefined && constraint_name === undefined
}

export const isUniqueViolation = (error: unknown): boolean => errorCode(error) === '23505'

/** Values that Postgres refuses (class 22) and rules that they break (23): sending them again would not help. */
const UNFIT = /^2[23]/

/** The SQLSTATE of what Postgres refuses for its values. */
export function unfitCode(error: unknown): string | undefined {
  const code = errorCode(error)
  return code !== undefined && UNFIT.test(code) ? code : undefined
}

/** The SQLSTATE or system code of a driver error; never its message text. */
export function errorCode(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null || !('code' in error)) return undefined
  return typeof error.code === 'string' ? error.code : undefined
}
