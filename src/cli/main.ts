import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { type App, type AppOptions, openApp } from '../app.ts'
import { CHECKOUT, type Config, ConfigError, readConfig } from '../config.ts'
import { errorCode, Failure, isPassing } from '../errors.ts'
import { setLogLevel } from '../log.ts'
import { didYouMean } from '../model/nearest.ts'
import { hasEmbedded } from '../store/embedded.ts'
import { type Command, LateMistake, UsageError, type Values } from './command.ts'
import { COMMANDS } from './commands.ts'
import { commandHelp, groupHelp, overview } from './help.ts'
import { type Progress, progress } from './progress.ts'
import { NO_STOP, type Stop } from './stop.ts'

export interface Surroundings {
  env: NodeJS.ProcessEnv
  out(text: string): void
  err(text: string): void
  /** Default: nothing cuts the command short. */
  stop?: Stop
}

/** Runs a command line; the exit code. */
export async function main(args: readonly string[], surroundings: Surroundings): Promise<number> {
  try {
    return await dispatch(args, surroundings)
  } catch (error) {
    surroundings.err(`recoup: ${explain(error, surroundings.env)}\n`)
    return 1
  }
}

async function dispatch(args: readonly string[], surroundings: Surroundings): Promise<number> {
  if (args[0] === '--version' || args[0] === 'version') {
    surroundings.out(`recoup ${version()}\n`)
    return 0
  }
  if (args[0] === 'help' && args.length > 1) return await dispatch([...args.slice(1), '--help'], surroundings)
  const words = args[0]?.startsWith('-') ? [] : args.slice(0, 2).filter((word) => !word.startsWith('-'))
  const found =
    COMMANDS.find(({ name }) => name === words.join(' ')) ?? COMMANDS.find(({ name }) => name === words[0])
  if (!found) {
    const group = groupOf(words[0])
    const isKnown = words.length === 0 || words[0] === 'help' || (group.length > 0 && words.length === 1)
    const asked = args.length === 0 || args.some((arg) => ['help', '--help', '-h'].includes(arg))
    if (isKnown && asked) {
      surroundings.out(`${group.length ? groupHelp(words[0] ?? '', group) : overview(COMMANDS)}\n`)
      return 0
    }
    const what = words.length
      ? `"${words.join(' ')}" is not a command`
      : `${args[0]} needs a command before it`
    throw new UsageError(
      group.length
        ? `${what}. Known: ${group.map(({ name }) => name).join(', ')}`
        : `${what}.${nearestCommand(words)} See recoup --help`,
    )
  }
  const rest = args.slice(found.name.split(' ').length)
  if (rest.includes('--help') || rest.includes('-h')) {
    surroundings.out(`${commandHelp(found, groupOf(found.name))}\n`)
    return 0
  }
  return await runCommand(found, rest, surroundings)
}

function version(): string {
  const about = JSON.parse(readFileSync(join(CHECKOUT, 'package.json'), 'utf8')) as { version: string }
  return about.version
}

/** What stands behind a command is no part of its name, and a group's name is the first word of its commands. */
function nearestCommand(words: readonly string[]): string {
  const names = COMMANDS.flatMap(({ name }) => [name, name.split(' ')[0] ?? name])
  return didYouMean(words.join(' '), names) || didYouMean(words[0] ?? '', names)
}

const groupOf = (word = '') => COMMANDS.filter(({ name }) => name.startsWith(`${word} `))

async function runCommand(
  found: Command,
  args: readonly string[],
  { env, out, stop = NO_STOP }: Surroundings,
): Promise<number> {
  const { values, positionals } = parse(found, args)
  const config = readConfig(env)
  setLogLevel(env.LOG_LEVEL === undefined && !found.logs ? 'warn' : config.logLevel)
  let opened: Promise<App> | undefined
  const shown: Progress[] = []
  const begin = (title: string): Progress => {
    const one = progress(title)
    shown.push(one)
    return one
  }
  try {
    const app = async (options?: AppOptions) => {
      if (!found.begins) checkService(config)
      opened ??= openApp(config, {
        ...options,
        onlyNew: found.migrates !== true,
        newerToo: found.overNewer === true,
      })
      return await opened
    }
    const work = found.run({ config, values, positionals, app, progress: begin, stop })
    const result = await (found.stops ? work : Promise.race([work, cut(stop)]))
    if (result === undefined) return 0
    const text = found.text as ((result: unknown) => string) | undefined
    out(`${values.json || !text ? JSON.stringify(result, null, 2) : text(result)}\n`)
    return found.fails?.(result as never) ? 1 : 0
  } catch (error) {
    if (stop.signal.aborted && !found.logs) return stop.code()
    if (error instanceof LateMistake && !values.json) out(`${error.before}\n`)
    throw error
  } finally {
    // What failed half-way is told on a line of its own, below the bar.
    for (const one of shown) one.end()
    await (await opened?.catch(() => undefined))?.close()
  }
}

const cut = async ({ asked }: Stop): Promise<never> => {
  throw new Error(await asked)
}

/** A command that reads or changes a service is not where one begins: in the wrong folder it would show an empty one. */
function checkService({ databaseUrl, dataDir }: Config): void {
  if (databaseUrl !== null || hasEmbedded(dataDir)) return
  throw new UsageError(
    `There is no service in DATA_DIR=${dataDir}. Set DATA_DIR (or DATABASE_URL) as it is set for the service, or begin one: recoup dev`,
  )
}

function parse(found: Command, args: readonly string[]): { values: Values; positionals: string[] } {
  const options = Object.fromEntries(
    Object.entries(found.options).map(([name, { type, short, multiple }]) => [
      name,
      { type, ...(short ? { short } : {}), ...(multiple ? { multiple } : {}) },
    ]),
  )
  try {
    const { values, positionals } = parseArgs({
      args: withNumbers(found, args),
      options: { ...options, json: { type: 'boolean' } },
      allowPositionals: true,
      strict: true,
    })
    const given = values as Values
    checkArguments(found, positionals)
    for (const [name, { required }] of Object.entries(found.options)) {
      if (required && given[name] === undefined)
        throw new UsageError(`--${name} is missing. See recoup ${found.name} --help`)
    }
    return { values: given, positionals }
  } catch (error) {
    if (error instanceof UsageError) throw error
    const message = error instanceof Error ? error.message : String(error)
    const ambiguous = /^Option '(-[^ ']*)( <value>)?' argument is ambiguous/.exec(message)?.[1]
    const said = ambiguous
      ? `${ambiguous} needs a value; one that begins with - is written ${ambiguous}=-…`
      : message.split(/\n|\. /)[0]?.replace(/\.$/, '')
    throw new UsageError(`${said}. See recoup ${found.name} --help`)
  }
}

/** An empty one is a variable of a shell that is not set: it is missing, also where none need be given. */
function checkArguments({ name, arguments: declared = [] }: Command, given: readonly string[]): void {
  const missing = declared.find((word, at) => (word.startsWith('[') ? given[at] === '' : !given[at]))
  if (missing) throw new UsageError(`${missing.replace(/\W/g, '')} is missing. See recoup ${name} --help`)
  const most = declared.at(-1)?.endsWith('…]') ? Number.POSITIVE_INFINITY : declared.length
  if (given.length > most)
    throw new UsageError(`Unexpected argument '${given[most]}'. See recoup ${name} --help`)
}

/** A negative number behind the name of an option is its value, which is then looked at as any other. */
const withNumbers = ({ options }: Command, args: readonly string[]): string[] =>
  args.reduce<string[]>((given, arg) => {
    const before = given.at(-1)
    const takesValue = before?.startsWith('--') && options[before.slice(2)]?.type === 'string'
    if (takesValue && /^-[\d.]/.test(arg)) given[given.length - 1] = `${before}=${arg}`
    else given.push(arg)
    return given
  }, [])

const READ_ONLY = '25006'
const FULL = ['ENOSPC', 'EDQUOT']

/** What a person sees of a failure: its text, and the stack only of mistakes in the program or when debugging. */
function explain(error: unknown, env: NodeJS.ProcessEnv): string {
  if (error instanceof ConfigError) return `The environment is wrong:\n${error.message}`
  if (error instanceof UsageError || error instanceof Failure) return error.message
  if (!(error instanceof Error)) return String(error)
  if (FULL.includes(errorCode(error) ?? ''))
    return `${error.message}. The disk of DATA_DIR, of LAKE_DIR or of what the command writes is full: free some space, then run it again`
  if (errorCode(error) === READ_ONLY)
    return `Postgres takes no writes (${error.message}): it is a standby, or default_transaction_read_only is on. Set DATABASE_URL to the primary, or have this one take writes, then run it again`
  if (isPassing(error))
    return `Postgres went away while the command ran, or did not answer (${error.message}). Run it again once it answers`
  const isMistake = [TypeError, RangeError, ReferenceError].some((kind) => error instanceof kind)
  return (isMistake || env.LOG_LEVEL === 'debug' ? error.stack : undefined) ?? error.message
}
