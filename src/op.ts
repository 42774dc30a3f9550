import type * as v from 'valibot'

/** A named statement of sql/postgres, run with its positional arguments. */
export interface Statements {
  /** Exactly one row; throws `not_found` when there is none. */
  one<Row = Record<string, unknown>>(name: string, args?: unknown[]): Promise<Row>
  maybe<Row = Record<string, unknown>>(name: string, args?: unknown[]): Promise<Row | undefined>
  many<Row = Record<string, unknown>>(name: string, args?: unknown[]): Promise<Row[]>
  /** For statements without rows; the number of rows changed. */
  run(name: string, args?: unknown[]): Promise<number>
}

/** Statements of one brand (its id is bound as $1 and set for row-level security), each in its own transaction. */
export interface Db extends Statements {
  tx<T>(work: (tx: Statements) => Promise<T>): Promise<T>
}

/** Rows of a DuckDB statement; values are bound as $1, $2, … and never become SQL text. */
export interface Reader {
  /** Generation of the published results that the rows come from; 0 before the first. */
  readonly generation: number
  /** Of sources. */
  readonly pin?: Pin
  rows<Row = Record<string, unknown>>(statement: string, values?: unknown[]): Promise<Row[]>
}

/** What sources were read of: a later call that names it reads the same rows. Times are ISO 8601. */
export interface Pin {
  asOf: string
  /** An instant of the past was asked for, not the present of then. */
  past: boolean
  /** Rows of later ticks came since. */
  tick: number
  /** Erasures of the brand until then. */
  erasures: number
  /** When it was the newest. */
  at: string
}

/** Rows of a brand's sources and models as of an instant. */
export interface Sources extends Reader {
  readonly asOf: Date
}

/** The rows of one customer in a table, in no order. */
export type CustomerRows = <Row>(table: string) => Row[]

/** Rows of one generation of published results. */
export interface Published extends Reader {
  /**
   * The rows of each of these customers in tables that are looked up by customer. They wait for none of the statements
   * above, and cost a twentieth of one.
   */
  of(customers: readonly number[], tables: readonly string[]): Promise<CustomerRows[]>
}

/** What an operation may read of its brand's lake. */
export interface Lake {
  /**
   * The newest published results (served.duckdb); null before the first refresh. For a walk that began in an earlier
   * generation that one, as long as it is kept. `newest`: the number of the newest one, where a statement of this call has
   * just read it; that saves asking for it.
   */
  served(generation?: number, newest?: number): Promise<Published | null>
  /**
   * Sources and staging models over a manifest of the last seconds, as of an instant (default: now). `newest`: a
   * generation that was told of in this call; they are not of an older one, nor without what came in with `tick`.
   */
  sources(asOf?: Date, newest?: number, tick?: number): Promise<Sources>
  /** The same rows as before for 24 hours, unless an erasure comes; then, as of the same instant, those of the newest manifest. */
  pinned(pin: Pin): Promise<Sources>
}

export interface Brand {
  id: string
  name: string
  shop_domain: string
  storefront_domains: string[]
  currency_code: string
  timezone: string
  default_phone_region: string
  features: string[]
  created_at: string
  /** Of a caller's brand: the store has removed the app. */
  store_left?: boolean
}

interface CallerOf<Kind extends string> {
  kind: Kind
  /** The credential; with the operation's name the identity that rate limits count by. */
  id: string
  brandId: string
  scopes: readonly string[]
}

export interface KeyCaller extends CallerOf<'key'> {
  keyClass: 'cdp' | 'brand-api'
}

export type Role = 'admin' | 'member'

interface SignedIn {
  userId: string
  role: Role
  /** Staff of the service, who may act for every brand. */
  isStaff: boolean
}

/** A sign-in token; its `id` is user and client. */
export interface TokenCaller extends CallerOf<'token'>, SignedIn {
  clientId: string
}

/** The web app's cookie; its `id` is the user. */
export interface SessionCaller extends CallerOf<'session'>, SignedIn {}

/** Who calls. */
export type Caller = KeyCaller | TokenCaller | SessionCaller

/** Cursors of one call, bound to its operation, brand and filters. */
export interface CallCursors {
  /**
   * The position that was sealed; null without a cursor. Throws bad_request for one not issued for this call, and on
   * the CDP host forbidden for one that was issued to another brand.
   */
  open<Position>(cursor: string | undefined, filters?: Readonly<Record<string, unknown>>): Position | null
  seal(position: unknown, filters?: Readonly<Record<string, unknown>>): string
}

/** Seals a secret that Postgres is to hold, and opens it; `place` names what it is. */
export interface Sealing {
  seal(content: Buffer, place: string): Buffer
  open(sealed: Buffer, place: string): Buffer
}

export interface Ctx {
  brand: Brand
  caller: Caller
  db: Db
  /** Statements of another brand: for staff; throws `forbidden` for anyone else. */
  dbOf(brandId: string): Db
  lake: Lake
  cursors: CallCursors
  /** Resolves once no server process goes by what it knew of keys and brands before the statements made so far. */
  everywhere(): Promise<void>
  seal: Sealing
  /** Counts something that all callers of the brand share, beside the limit of the operation; throws `rate_limited`. */
  limit(what: string, rate: Rate): Promise<void>
  /** Public origin of the webhook receiver. */
  webhookUrl: string
  /** Public origin of the service itself. */
  baseUrl: string
  now: Date
  signal: AbortSignal
}

export type Schema = v.GenericSchema
type Out<S> = S extends Schema ? v.InferOutput<S> : undefined

export type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE'

/** Page size of a list: default, maximum, and whether more is refused or clamped; less than 1 is refused unless said. */
export interface Page {
  default: number
  max: number
  over: 'refuse' | 'clamp'
  under?: 'clamp'
}

/** What a call does to the brand's data: `destroy` also replaces or removes. For the hints of tools. */
export type Effect = 'read' | 'write' | 'destroy'

/** One call as it is on the wire, for the documents. */
export interface Example {
  path?: Record<string, string>
  query?: Record<string, string | number | boolean | readonly string[]>
  body?: object
  output: object
}

/** GCRA: `burst` (default `count`) at once, then `count` per period. */
export interface Rate {
  count: number
  per: 'second' | 'minute'
  burst?: number
}

export interface Op<
  Path = Schema | undefined,
  Query = Schema | undefined,
  Body = Schema | undefined,
  Output = Schema,
> {
  /** snake_case; the MCP tool's name when `tool` is true. */
  name: string
  route?: `${Method} /${string}`
  surface: 'rest' | 'cdp'
  /** Any one of these is enough; empty: any valid credential. */
  scopes: readonly string[]
  /** True: an API key is refused with 403; `session`: so is a sign-in token. */
  signIn: boolean | 'session'
  role?: 'admin'
  feature?: string
  /** The contract's own limit, exact over all processes; without it the limit of all operations. */
  rate?: Rate
  page?: Page
  /** A cursor that was issued to another brand is 403, and not one that was never issued. */
  tellsForeignCursors: boolean
  /** Status of success, 200 unless said. */
  status: number
  input: { path?: Path; query?: Query; body?: Body }
  output: Output
  /**
   * What each line of an NDJSON answer is. The output is then `{ lines, next_cursor }`: the body, and the header
   * X-Next-Cursor while there are more.
   */
  ndjson?: Schema
  /** Numbers in its body that a double would change are JSON.rawJSON of their digits, for what is kept and shown as it was sent. */
  exact: boolean
  /** Codes that this operation can answer beside those of every operation. */
  errors: readonly string[]
  tool: boolean
  /** Follows from the method (POST: write) unless said; without a route it is `destroy`. */
  effect?: Effect
  what: string
  example?: Example
  run(ctx: Ctx, input: { path: Out<Path>; query: Out<Query>; body: Out<Body> }): Promise<Out<Output>>
}

type Optional =
  | 'surface'
  | 'signIn'
  | 'tellsForeignCursors'
  | 'status'
  | 'exact'
  | 'errors'
  | 'tool'
  | 'input'
  | 'run'

type Declaration<Path, Query, Body, Output> = Omit<Op<Path, Query, Body, Output>, Optional> &
  Partial<Pick<Op<Path, Query, Body, Output>, Optional>> &
  Pick<Op<Path, Query, Body, Output>, 'run'>

/** The only place where an operation is described: routing, validation, OpenAPI and MCP derive from it. */
export function op<
  Path extends Schema | undefined = undefined,
  Query extends Schema | undefined = undefined,
  Body extends Schema | undefined = undefined,
  Output extends Schema = Schema,
>(declaration: Declaration<Path, Query, Body, Output>): Op {
  return {
    surface: 'rest',
    signIn: false,
    tellsForeignCursors: false,
    status: 200,
    exact: false,
    errors: [],
    tool: true,
    input: {},
    ...declaration,
  } as unknown as Op
}
