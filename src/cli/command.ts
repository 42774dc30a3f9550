import { readFile } from 'node:fs/promises'
import { text as textOf } from 'node:stream/consumers'
import * as v from 'valibot'
import type { App, AppOptions } from '../app.ts'
import type { Config } from '../config.ts'
import { isBlank, timestamp } from '../fields.ts'
import type { Progress } from './progress.ts'
import type { Stop } from './stop.ts'

export type Values = Record<string, string | boolean | string[] | undefined>

export interface Option {
  type: 'string' | 'boolean'
  short?: string
  multiple?: boolean
  required?: boolean
  /** Shown in --help behind the name, such as FILE. */
  placeholder?: string
  what: string
}

/** What is given for declared arguments, as strings: for [NAME] there may be none, for [NAME…] any number. */
type Given<Arguments extends readonly string[]> = Arguments extends readonly [`[${string}…]`]
  ? readonly string[]
  : { readonly [At in keyof Arguments]: Arguments[At] extends `[${string}]` ? string | undefined : string }

export interface Run<Positionals extends readonly (string | undefined)[] = readonly string[]> {
  config: Config
  values: Values
  positionals: Positionals
  /** The stores, opened on first use and closed after the command. */
  app(options?: AppOptions): Promise<App>
  progress(title: string): Progress
  stop: Stop
}

/** One command of bin/recoup. `run` returns the document that --json prints; `text` says the same to a person. */
export interface Command {
  /** Words after `recoup`, such as `brand create`. */
  name: string
  /** Positional arguments as shown in --help: NAME is required, [NAME] is not, [NAME…] are any number. */
  arguments?: readonly string[]
  what: string
  options: Record<string, Option>
  /** May be the first of a service: where there is none yet it makes the embedded Postgres, others refuse. */
  begins?: boolean
  /** Brings an older database to the schema of this version; others refuse it. */
  migrates?: boolean
  /** Also over a database of a newer version, as while servers are replaced one by one; others refuse it. */
  overNewer?: boolean
  /** Logs at LOG_LEVEL; other commands log warnings and errors only, unless LOG_LEVEL is set. */
  logs?: boolean
  /** Heeds `stop.signal`: it is waited for. Others are left where they are. */
  stops?: boolean
  run(run: Run): Promise<unknown>
  text?(result: never): string
  /** Whether the result, printed all the same, stands for exit code 1. */
  fails?(result: never): boolean
}

export const command = <Result, const Arguments extends readonly string[] = readonly []>(declared: {
  name: string
  arguments?: Arguments
  what: string
  options: Record<string, Option>
  begins?: boolean
  migrates?: boolean
  overNewer?: boolean
  logs?: boolean
  stops?: boolean
  run(run: Run<Given<Arguments>>): Promise<Result>
  text?(result: Result): string
  fails?(result: Result): boolean
}): Command => declared as Command

/** A mistake in how a command was called: shown without a stack, with a hint at --help. */
export class UsageError extends Error {}

/** A mistake that came after a part of the result, which persons are shown before it. */
export class LateMistake extends UsageError {
  readonly before: string

  constructor(message: string, before: string) {
    super(message)
    this.before = before
  }
}

export const text = (values: Values, name: string): string | undefined =>
  typeof values[name] === 'string' ? values[name] : undefined

export function required(values: Values, name: string): string {
  const value = text(values, name)
  if (value === undefined || isBlank(value)) throw new UsageError(`--${name} is missing`)
  return value
}

export function integerOption(
  values: Values,
  name: string,
  fallback: number,
  least: number,
  most: number,
): number {
  const value = text(values, name)
  if (value === undefined) return fallback
  if (!/^\d+$/.test(value) || Number(value) < least || Number(value) > most)
    throw new UsageError(`--${name} must be an integer from ${least} to ${most}, not "${value}"`)
  return Number(value)
}

/** One of the values that there are. */
export function choiceOption<Value extends string>(
  values: Values,
  name: string,
  known: readonly Value[],
): Value {
  const given = required(values, name)
  const found = known.find((one) => one === given)
  if (found) return found
  throw new UsageError(`--${name} must be ${known.join(' or ')}, not "${given}"`)
}

/** The content of the file that an option names, without a byte order mark; - is standard input. */
export async function fileOption(values: Values, name: string): Promise<string> {
  const file = required(values, name)
  try {
    return file === '-' ? await textOf(process.stdin) : new TextDecoder().decode(await readFile(file))
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    throw new UsageError(`--${name}: ${file}: cannot be read: ${why}`)
  }
}

export function timeOption(values: Values, name: string): Date | undefined {
  const value = text(values, name)
  if (value === undefined) return undefined
  const at = v.safeParse(timestamp, value)
  if (at.success) return at.output
  throw new UsageError(
    `--${name} must be an ISO 8601 time such as 2026-01-31T00:00:00Z (UTC where it names no zone), not "${value}"`,
  )
}
