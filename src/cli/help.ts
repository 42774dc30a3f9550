import { SETTINGS } from '../config.ts'
import type { Command } from './command.ts'

/** The commands, a line each. */
export function overview(commands: readonly Command[]): string {
  return [
    'recoup: a customer-recovery data service for online stores',
    '',
    'Usage: recoup COMMAND [options]',
    '',
    ...listed(commands),
    '',
    'Every command takes --help, and --json for one JSON document on stdout. recoup --version says which one this is.',
    `Settings come from the environment: ${Object.keys(SETTINGS).join(', ')}.`,
  ].join('\n')
}

/** The commands that begin with a word. */
export const groupHelp = (word: string, commands: readonly Command[]): string =>
  [
    `Usage: recoup ${word} COMMAND [options]`,
    '',
    ...listed(commands),
    '',
    `recoup ${word} COMMAND --help shows its options.`,
  ].join('\n')

/** A longer usage has a line to itself, so that it does not push all descriptions to the right. */
const WIDEST_USAGE = 30

function listed(commands: readonly Command[]): string[] {
  const lengths = commands.map((one) => usage(one).length)
  const width = Math.max(0, ...lengths.filter((length) => length <= WIDEST_USAGE))
  return commands.flatMap((one) => {
    const left = usage(one)
    return left.length <= width
      ? [`  ${left.padEnd(width)}  ${one.what}`]
      : [`  ${left}`, `  ${' '.repeat(width)}  ${one.what}`]
  })
}

const usage = ({ name, arguments: positional }: Command) => (positional ? `${name} ${positional}` : name)

/** `others`: commands whose names begin with this one's. */
export function commandHelp(command: Command, others: readonly Command[] = []): string {
  const options = Object.entries(command.options).map(([name, { placeholder, what, required }]) => ({
    left: `--${name}${placeholder ? ` ${placeholder}` : ''}`,
    right: `${what}${required ? ' (required)' : ''}`,
  }))
  options.push({ left: '--json', right: 'Print one JSON document on stdout' })
  const width = Math.max(...options.map(({ left }) => left.length))
  return [
    `Usage: recoup ${usage(command)} [options]`,
    '',
    command.what,
    '',
    ...options.map(({ left, right }) => `  ${left.padEnd(width)}  ${right}`),
    ...(others.length ? ['', 'See also:', ...listed(others)] : []),
  ].join('\n')
}
