import { parseArgs } from 'node:util'
import { type App, openApp } from './app.ts'
import { type Command, UsageError, type Values } from './cli/command.ts'
import { COMMANDS } from './cli/commands.ts'
import { commandHelp, overview } from './cli/help.ts'
import { progress } from './cli/progress.ts'
import { ConfigError, readConfig } from './config.ts'
import { Failure } from './errors.ts'
import { setLogLevel } from './log.ts'

async function main(args: readonly string[]): Promise<number> {
  const words = args.slice(0, 2).filter((word) => !word.startsWith('-'))
  const found =
    COMMANDS.find(({ name }) => name === words.join(' ')) ?? COMMANDS.find(({ name }) => name === words[0])
  if (!found) {
    const group = COMMANDS.filter(({ name }) => name.startsWith(`${words[0]} `))
    const asked = args.length === 0 || args.includes('--help') || words[0] === 'help'
    if (asked) {
      process.stdout.write(`${overview(group.length ? group : COMMANDS)}\n`)
      return 0
    }
    const what = words.length
      ? `"${words.join(' ')}" is not a command`
      : `${args[0]} needs a command before it`
    throw new UsageError(
      `${what}. ${group.length ? `Known: ${group.map(({ name }) => name).join(', ')}` : 'See recoup --help'}`,
    )
  }
  const rest = args.slice(found.name.split(' ').length)
  if (rest.includes('--help') || rest.includes('-h')) {
    process.stdout.write(`${commandHelp(found)}\n`)
    return 0
  }
  return await runCommand(found, rest)
}

async function runCommand(found: Command, args: readonly string[]): Promise<number> {
  const { values, positionals } = parse(found, args)
  const config = readConfig(process.env)
  setLogLevel(process.env.LOG_LEVEL === undefined && !found.logs ? 'warn' : config.logLevel)
  let opened: Promise<App> | undefined
  try {
    const app = () => {
      opened ??= openApp(config)
      return opened
    }
    const result = await found.run({ config, values, positionals, app, progress })
    if (result === undefined) return 0
    const text = found.text as ((result: unknown) => string) | undefined
    process.stdout.write(`${values.json || !text ? JSON.stringify(result, null, 2) : text(result)}\n`)
    return 0
  } finally {
    await (await opened?.catch(() => undefined))?.close()
  }
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
      args: [...args],
      options: { ...options, json: { type: 'boolean' } },
      allowPositionals: found.arguments !== undefined,
      strict: true,
    })
    const given = values as Values
    for (const [name, { required }] of Object.entries(found.options)) {
      if (required && given[name] === undefined)
        throw new UsageError(`--${name} is missing. See recoup ${found.name} --help`)
    }
    return { values: given, positionals }
  } catch (error) {
    if (error instanceof UsageError) throw error
    const said = error instanceof Error ? error.message.split('. ')[0] : String(error)
    throw new UsageError(`${said}. See recoup ${found.name} --help`)
  }
}

/** What a person sees of a failure: its text, and the stack only of what nobody foresaw. */
function explain(error: unknown): string {
  if (error instanceof ConfigError) return `The environment is wrong:\n${error.message}`
  if (error instanceof UsageError || error instanceof Failure) return error.message
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}

try {
  process.exitCode = await main(process.argv.slice(2))
} catch (error) {
  process.stderr.write(`recoup: ${explain(error)}\n`)
  process.exitCode = 1
}
