import { createInterface } from 'node:readline/promises'
import { text as textOf } from 'node:stream/consumers'
import type { Session } from '../lake/session.ts'
import { causeOf } from '../model/failing.ts'
import { loadReadable } from '../model/graph.ts'
import type { Brand } from '../op.ts'
import { openReading } from '../segment/reading.ts'
import { type Answer, StatementFailed } from '../store/duckdb.ts'
import { command, LateMistake, text, timeOption, UsageError } from './command.ts'
import { brandOrOnly, brandUnlessOnly } from './of-brand.ts'
import { heedInterrupt } from './stop.ts'
import { table } from './table.ts'

const SHOWN_ROWS = 1_000

type Row = Record<string, unknown>

/** Quoted statements are several; words of a shell are one. */
const statementsOf = (given: readonly string[]) =>
  given.join(given.every((one) => /\s/.test(one.trim())) ? ';\n' : ' ')

/** What each statement answers, with so many rows. */
async function query(session: Session, text: string, most: number): Promise<Answer[]> {
  try {
    return plainly(await session.duck.answers(text, most))
  } catch (thrown) {
    const {
      cause: failed,
      place = null,
      answers = [],
    } = thrown instanceof StatementFailed ? thrown : { cause: thrown }
    const { models } = await loadReadable()
    const words = new Set(text.toLowerCase().match(/\w+/g))
    const named = models.map(({ name }) => name).filter((name) => words.has(name))
    const error = await causeOf(failed, session.duck, named, models)
    const message = error instanceof Error ? error.message : String(error)
    const said = (await inOurWords(message)) ?? message
    const mistake = place === null ? said : `${place}: ${said}`
    if (answers.length === 0) throw new UsageError(mistake)
    throw new LateMistake(mistake, answersAsText(plainly(answers.map(cut))))
  }
}

/** With --json all rows are there. */
const cut = ({ rows, more }: Answer): Answer => ({
  rows: rows.slice(0, SHOWN_ROWS),
  more: more + Math.max(0, rows.length - SHOWN_ROWS),
})

const plainly = (answers: readonly Answer[]): Answer[] =>
  answers.map(({ rows, more }) => ({ rows: rows.map((row) => plain(row) as Row), more }))

/** Of a model that is left out DuckDB says that it does not know it, and it asks for values where none can be given. */
async function inOurWords(message: string): Promise<string | undefined> {
  const parameters = /prepared statement parameters: (.+)/.exec(message)?.[1]
  if (parameters !== undefined) return `Put the values in place of the parameters: ${parameters}`
  const missing = /Table with name (\w+) does not exist/.exec(message)?.[1]?.toLowerCase() ?? ''
  const broken = (await loadReadable()).leftOut.get(missing)
  return broken && `${missing} is left out: ${broken.message}`
}

/** Values of types that JSON does not have as the nearest that it has; whole numbers beyond 2^53 as text. */
function plain(value: unknown): unknown {
  if (typeof value === 'bigint') return Number.isSafeInteger(Number(value)) ? Number(value) : String(value)
  if (typeof value === 'number' && !Number.isFinite(value)) return String(value)
  if (value instanceof Uint8Array) return Buffer.from(value).toString('hex')
  if (Array.isArray(value)) return value.map(plain)
  if (typeof value !== 'object' || value === null || value instanceof Date) return value
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, plain(one)]))
}

const answerAsText = ({ rows, more }: Answer) => {
  const [first] = rows
  if (!first) return '(no rows)'
  const header = Object.keys(first)
  return (
    table(
      header,
      rows.map((row) => header.map((name) => row[name])),
    ) + (more ? `\n… ${more} more rows (--json prints all)` : '')
  )
}

const answersAsText = (answers: readonly Answer[]) =>
  answers.length ? answers.map(answerAsText).join('\n\n') : '(no rows)'

const HELP = `Statements of DuckDB, over as many lines as you like, up to a ;
  show tables;       what there is                   describe ltv;   its columns
  from ltv limit 5;  its first rows                  .exit           leaves, as Ctrl-D does
Sources and models, and what they mean: docs/models.md; segments: segment_members and member_history.
Whatever else show tables lists is the refreshes' own and may change with any version.`

/** Reads statements, each up to its semicolon, and answers them until the input ends or .exit. */
export async function prompt(
  session: Session,
  { name, shop_domain }: Pick<Brand, 'name' | 'shop_domain'>,
  input: NodeJS.ReadableStream,
  output: NodeJS.WritableStream,
  signal?: AbortSignal,
): Promise<void> {
  const say = (words: string) => output.write(`${words}\n`)
  say(`DuckDB over ${name} (${shop_domain}) as of ${session.asOf.toISOString()}.`)
  say('Statements end with ; and Ctrl-D leaves. Try: from ltv limit 5;   or: show tables;   or: .help')
  const lines = createInterface({ input, output, prompt: 'recoup> ', ...(signal && { signal }) })
  heedInterrupt(lines)
  // Nobody reads the answers any more.
  output.once('error', () => lines.close())
  let statement = ''
  lines.prompt()
  for await (const line of lines) {
    const word = statement.trim() ? '' : line.trim().replace(/;$/, '')
    if (/^(\.exit|\.quit|exit|quit)$/i.test(word)) break
    if (word.startsWith('.')) say(/^\.help$/i.test(word) ? HELP : `There is no ${word}: .help or .exit`)
    else statement += `${line}\n`
    if (/;\s*$/.test(statement)) {
      try {
        say(answersAsText(await query(session, statement, SHOWN_ROWS)))
      } catch (error) {
        signal?.throwIfAborted()
        if (error instanceof LateMistake) say(`${error.before}\n`)
        say(error instanceof Error ? error.message : String(error))
      }
      statement = ''
    }
    lines.setPrompt(statement.trim() ? '   ...> ' : 'recoup> ')
    lines.prompt()
  }
  lines.close()
  signal?.throwIfAborted()
  say('')
}

export const sqlCommands = [
  command({
    name: 'sql',
    arguments: ['[STATEMENT…]'],
    what: 'Query all sources and models of a brand with DuckDB, on a copy: nothing stored changes; without a statement, a prompt',
    options: {
      brand: brandUnlessOnly,
      'as-of': { type: 'string', placeholder: 'TIME', what: 'Models as of this instant (default: now)' },
    },
    stops: true,
    run: async ({ app: open, values, positionals, stop: { signal } }) => {
      const app = await open()
      const brand = await brandOrOnly(app, text(values, 'brand'))
      const session = await openReading(app.pipeline, brand, timeOption(values, 'as-of'), { signal })
      for (const { message } of (await loadReadable()).leftOut.values())
        process.stderr.write(`left out: ${message}\n`)
      try {
        if (!positionals.length && process.stdin.isTTY)
          return await prompt(session, brand, process.stdin, process.stdout, signal)
        const statements = positionals.length ? statementsOf(positionals) : await textOf(process.stdin)
        if (!values.json) return await query(session, statements, SHOWN_ROWS)
        const all = (await query(session, statements, Number.POSITIVE_INFINITY)).map(({ rows }) => rows)
        return all.length === 1 ? all[0] : all
      } finally {
        await session.close()
      }
    },
    text: (answers) => answersAsText(answers as Answer[]),
  }),
]
