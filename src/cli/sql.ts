import { createInterface } from 'node:readline/promises'
import type { Session } from '../lake/session.ts'
import type { Brand } from '../op.ts'
import { openReading } from '../segment/reading.ts'
import { brandOrOnly } from './brand.ts'
import { command, type Run, text, timeOption, UsageError } from './command.ts'
import { table } from './table.ts'

const SHOWN_ROWS = 1_000

async function query(session: Session, statement: string): Promise<Record<string, unknown>[]> {
  try {
    return (await session.duck.rows(statement)).map((row) => plain(row) as Record<string, unknown>)
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error))
  }
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

const rowsAsText = (rows: readonly Record<string, unknown>[]) => {
  const [first] = rows
  if (!first) return '(no rows)'
  const header = Object.keys(first)
  const more = rows.length > SHOWN_ROWS ? `\n… ${rows.length - SHOWN_ROWS} more rows (--json prints all)` : ''
  return (
    table(
      header,
      rows.slice(0, SHOWN_ROWS).map((row) => header.map((name) => row[name])),
    ) + more
  )
}

async function prompt(session: Session, brand: Brand): Promise<void> {
  const say = (words: string) => process.stdout.write(`${words}\n`)
  say(`DuckDB over ${brand.name} (${brand.shop_domain}) as of ${session.asOf.toISOString()}.`)
  say('Statements end with ; and Ctrl-D leaves. Try: from ltv limit 5;   or: show tables;')
  const lines = createInterface({ input: process.stdin, output: process.stdout, prompt: 'recoup> ' })
  let statement = ''
  lines.prompt()
  for await (const line of lines) {
    statement += `${line}\n`
    if (/;\s*$/.test(statement)) {
      try {
        say(rowsAsText(await query(session, statement)))
      } catch (error) {
        say(error instanceof Error ? error.message : String(error))
      }
      statement = ''
    }
    lines.setPrompt(statement.trim() ? '   ...> ' : 'recoup> ')
    lines.prompt()
  }
  say('')
}

export const sqlCommands = [
  command({
    name: 'sql',
    arguments: '[STATEMENT]',
    what: 'Query all sources and models of a brand with DuckDB; without a statement, a prompt',
    options: {
      brand: { type: 'string', placeholder: 'BRAND', what: 'Id, shop or name (default: the only brand)' },
      'as-of': { type: 'string', placeholder: 'TIME', what: 'Models as of this instant (default: now)' },
    },
    run: async ({ app: open, values, positionals }: Run) => {
      const app = await open()
      const brand = await brandOrOnly(app, text(values, 'brand'))
      const session = await openReading(app.pipeline, brand, timeOption(values, 'as-of') ?? new Date())
      try {
        if (positionals.length) return await query(session, positionals.join(' '))
        if (process.stdin.isTTY) return await prompt(session, brand)
        let piped = ''
        for await (const chunk of process.stdin) piped += chunk
        return await query(session, piped)
      } finally {
        await session.close()
      }
    },
    text: (rows) => rowsAsText(rows as Record<string, unknown>[]),
  }),
]
