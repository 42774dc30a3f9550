import {
  type DuckDBConnection,
  DuckDBDateValue,
  type DuckDBMaterializedResult,
  type DuckDBPreparedStatement,
  type DuckDBResult,
  DuckDBTypeId,
  type DuckDBValue,
  type DuckDBValueConverter,
  type JS,
  JSDuckDBValueConverter,
  ResultReturnType,
} from './duckdb-api.ts'
import { placeOf } from './duckdb-place.ts'
import { mayWrite, namesWriter } from './duckdb-statements.ts'
import { keepByteOrderMarks } from './duckdb-text.ts'

keepByteOrderMarks()

/** What a statement answers: its first rows, and how many more there are. */
export interface Answer {
  rows: Record<string, unknown>[]
  more: number
}

/** A statement of a text failed; `cause` says why. */
export class StatementFailed extends Error {
  /** Which it is of several. */
  readonly place: string | null
  /** What those before it answered. */
  readonly answers: readonly Answer[]

  constructor(cause: unknown, place: string | null, answers: readonly Answer[]) {
    super(`${place ?? 'A statement'} failed`, { cause })
    this.place = place
    this.answers = answers
  }
}

/** A connection to an in-memory DuckDB: statements run one after the other. */
export interface Duck {
  run(statement: string, values?: readonly unknown[]): Promise<void>
  /** Counts are numbers, DECIMAL is a decimal string, TIMESTAMP a Date in UTC. The signal interrupts no other statement. */
  rows<Row = Record<string, unknown>>(
    statement: string,
    values?: readonly unknown[],
    signal?: AbortSignal,
  ): Promise<Row[]>
  /**
   * What each statement of a text answers, at most so many rows of each, as `rows` has them, but for dates, times of day,
   * intervals and bits, which are texts; of those that answer nothing, such as parts of a pivot, no answer. Those that write
   * files are refused. Where one fails, with StatementFailed.
   */
  answers(text: string, most: number): Promise<Answer[]>
  /** For the appender and for reading chunks. */
  readonly connection: DuckDBConnection
}

/** A connection under way. */
export interface Line extends Duck {
  /** From here on nothing is answered. */
  stop(reason: unknown): void
  /** Interrupts what runs. */
  close(): void
  inOrder<T>(statement: () => Promise<T>): Promise<T>
}

export function openLine(connection: DuckDBConnection, keptStatements: number): Line {
  // Statements of one connection must not overlap: each waits for the one before.
  let last: Promise<unknown> = Promise.resolve()
  let stopped: { reason: unknown } | undefined
  let isRunning = false
  const inOrder = <T>(statement: () => Promise<T>): Promise<T> => {
    const work = async () => {
      if (stopped) throw stopped.reason
      isRunning = true
      return await statement().finally(() => {
        isRunning = false
      })
    }
    const next = last.then(work, work)
    last = next.catch(() => {})
    return next
  }
  const kept = keepStatements(connection, keptStatements)
  let rest = () => {}
  const stop = (reason: unknown) => {
    stopped = { reason }
    rest()
    rest = interrupting(connection)
  }
  const end = () => {
    rest()
    kept.close()
    connection.closeSync()
  }
  return {
    connection,
    inOrder,
    run: (text, values) => inOrder(async () => void (await connection.run(text, bindable(values)))),
    rows: (text, values, signal) =>
      inOrder(async () => {
        const statement = values?.length && keptStatements ? await kept.prepared(text) : undefined
        statement?.bind(bindable(values) ?? [])
        const run = () => statement?.run() ?? connection.run(text, bindable(values))
        return (await rowsOf(await (signal ? interrupted(connection, signal, run) : run()))) as never
      }),
    answers: (text, most) => inOrder(() => answersOf(connection, text, most)),
    stop,
    close: () => {
      if (!isRunning) return end()
      // Otherwise it would go on by itself, for as long as it takes.
      stop(stopped?.reason ?? new Error('the connection was closed'))
      void last.then(end)
    },
  }
}

const INTERRUPT_MS = 50

/** Until what is returned is called: a statement that is only being planned takes no notice of it. */
function interrupting(connection: DuckDBConnection): () => void {
  connection.interrupt()
  const timer = setInterval(() => connection.interrupt(), INTERRUPT_MS).unref()
  return () => clearInterval(timer)
}

/** What runs until the signal aborts, whose reason it throws then. */
export async function interrupted<T>(
  connection: DuckDBConnection,
  signal: AbortSignal,
  run: () => Promise<T>,
): Promise<T> {
  signal.throwIfAborted()
  let rest = () => {}
  const interrupt = () => {
    rest = interrupting(connection)
  }
  signal.addEventListener('abort', interrupt)
  try {
    return await run()
  } catch (error) {
    throw signal.aborted ? signal.reason : error
  } finally {
    rest()
    signal.removeEventListener('abort', interrupt)
  }
}

const NO_FILES =
  'COPY, EXPORT, ATTACH, enable_logging, query() and prepared statements are not for here: no file is written. Print rows with --json > FILE, or write a model with recoup export'

async function answersOf(connection: DuckDBConnection, text: string, most: number): Promise<Answer[]> {
  if (namesWriter(text)) throw new Error(NO_FILES)
  const statements = await connection.extractStatements(text).catch(() => null)
  const answers: Answer[] = []
  let at = 0
  try {
    // An empty text, or a mistake, which DuckDB explains when it is asked to run it.
    if (!statements) {
      const reader = await connection.runAndReadAll(text)
      return [{ rows: reader.convertRowObjects(toAnswer), more: 0 }]
    }
    for (; at < statements.count; at++) {
      const statement = await statements.prepare(at)
      try {
        if (mayWrite(statement.statementType, text)) throw new Error(NO_FILES)
        const result = await statement.stream()
        const answer = await answerOf(result, most)
        if (result.returnType !== ResultReturnType.NOTHING) answers.push(answer)
      } finally {
        statement.destroySync()
      }
    }
    return answers
  } catch (cause) {
    throw new StatementFailed(cause, await placeOf(connection, text, statements && at), answers)
  }
}

/** Reads it to its end, in which the statement may fail. */
async function answerOf(result: DuckDBResult, most: number): Promise<Answer> {
  const rows: Record<string, JS>[] = []
  let count = 0
  for (;;) {
    const chunk = await result.fetchChunk()
    if (!chunk?.rowCount) return { rows, more: count - rows.length }
    count += chunk.rowCount
    if (rows.length === most) continue
    const found = chunk.convertRows(toAnswer).slice(0, most - rows.length)
    rows.push(...named(result, found))
  }
}

const named = (result: DuckDBResult, rows: readonly JS[][]): Record<string, JS>[] => {
  const names = result.deduplicatedColumnNames()
  return rows.map((row) => Object.fromEntries(names.map((name, n) => [name, row[n] as JS])))
}

/** The first chunk holds all of a small result: it is there at once, each further one is a turn of a thread. */
async function rowsOf(result: DuckDBMaterializedResult): Promise<Record<string, JS>[]> {
  const { chunkCount } = result
  if (chunkCount > 1) return await result.convertRowObjects(toJs)
  if (chunkCount === 0) return []
  return named(result, result.getChunk(0).convertRows(toJs))
}

/** To parse and bind a statement anew takes as long as a row that is found by it. */
function keepStatements(connection: DuckDBConnection, most: number) {
  const statements = new Map<string, DuckDBPreparedStatement>()
  return {
    async prepared(text: string): Promise<DuckDBPreparedStatement> {
      const statement = statements.get(text) ?? (await connection.prepare(text))
      // Moved to the end: the first of the map is the least recently used.
      statements.delete(text)
      statements.set(text, statement)
      const [oldest] = statements.keys()
      if (statements.size > most && oldest !== undefined) {
        statements.get(oldest)?.destroySync()
        statements.delete(oldest)
      }
      return statement
    },
    close: () => {
      for (const statement of statements.values()) statement.destroySync()
    },
  }
}

/** A connection, and further ones: all are stopped by the signal, and closed together. */
export async function openLines(openOne: () => Promise<Line>, signal: AbortSignal | undefined) {
  const lines: Line[] = []
  const stop = () => {
    for (const line of lines) line.stop(signal?.reason)
  }
  signal?.addEventListener('abort', stop)
  const open = async () => {
    const line = await openOne()
    lines.push(line)
    if (signal?.aborted) stop()
    return line
  }
  const close = () => {
    signal?.removeEventListener('abort', stop)
    for (const line of lines) line.close()
  }
  return { line: await open(), open, close }
}

const bindable = (values?: readonly unknown[]): DuckDBValue[] | undefined =>
  values?.map((value) => (value instanceof Date ? isoText(value) : value)) as DuckDBValue[] | undefined

// Dates are bound as text and cast by the statement: the binding's own Date support drops to DATE in places.
const isoText = (value: Date) => value.toISOString().replace('T', ' ').replace('Z', '')

/** What a number cannot say exactly stays text. */
function whole(value: DuckDBValue): JS {
  const number = Number(value)
  return Number.isSafeInteger(number) ? number : String(value)
}

const OURS: Partial<Record<DuckDBTypeId, DuckDBValueConverter<JS>>> = {
  [DuckDBTypeId.BIGINT]: whole,
  [DuckDBTypeId.UBIGINT]: whole,
  [DuckDBTypeId.HUGEINT]: whole,
  [DuckDBTypeId.UHUGEINT]: whole,
  [DuckDBTypeId.BIGNUM]: whole,
  [DuckDBTypeId.DECIMAL]: String,
}

const toJs: DuckDBValueConverter<JS> = (value, type, converter) =>
  value === null ? null : (OURS[type.typeId] ?? JSDuckDBValueConverter)(value, type, converter)

/** What JSON and JavaScript have no word for, to be read by people: as DuckDB writes it. */
const WRITTEN: ReadonlySet<DuckDBTypeId> = new Set([
  DuckDBTypeId.DATE,
  DuckDBTypeId.TIME,
  DuckDBTypeId.TIME_NS,
  DuckDBTypeId.TIME_TZ,
  DuckDBTypeId.INTERVAL,
  DuckDBTypeId.BIT,
])

const toAnswer: DuckDBValueConverter<JS> = (value, type, converter) => {
  if (value !== null && WRITTEN.has(type.typeId)) return written(value)
  try {
    return toJs(value, type, converter)
  } catch (error) {
    // Times that no Date can be.
    if (error instanceof Error && /out of range/.test(error.message)) return String(value)
    throw error
  }
}

/** Of the days that stand for what never ends the binding makes dates. */
function written(value: NonNullable<DuckDBValue>): string {
  if (!(value instanceof DuckDBDateValue) || value.isFinite) return String(value)
  return value.days > 0 ? 'infinity' : '-infinity'
}
