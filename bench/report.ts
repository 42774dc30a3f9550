import { mkdirSync, writeFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { dirname, join } from 'node:path'
import { table } from '../src/cli/table.ts'

export const RESULTS = join(import.meta.dirname, 'results')

/** Prints rows as a table under their command and writes them, with what they were measured on, as JSON. */
export function report<Row extends object>(
  { command, says, json }: { command: string; says: string; json: string | undefined },
  rows: readonly Row[],
): void {
  const header = Object.keys(rows[0] ?? {}).map((name) => name.replaceAll('_', ' '))
  process.stdout.write(`${command}\n${says}\n`)
  process.stdout.write(
    `${table(
      header,
      rows.map((row) => Object.values(row)),
    )}\n`,
  )
  if (!json) return
  mkdirSync(dirname(json), { recursive: true })
  writeFileSync(json, `${JSON.stringify({ command, says, cpus: cpus().length, results: rows }, null, 2)}\n`)
}

/** What a benchmark does at the moment, for whoever waits. */
export const progress = (text: string) => process.stderr.write(`  ${text}\n`)

export const rounded = (value: number, digits = 0) => Math.round(value * 10 ** digits) / 10 ** digits
