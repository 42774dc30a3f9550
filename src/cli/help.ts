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
    'Every command takes --help, and those that end by themselves --json for one JSON document on stdout. recoup --version says which one this is.',
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

function listed(commands: readonly Command[]): string[] {
  const width = Math.max(...commands.map((one) => usage(one).length))
  return commands.map((one) => `  ${usage(one).padEnd(width)}  ${one.what}`)
}

/** A command with its arguments. */
export const usage = ({ name, arguments: declared = [] }: Command): string => [name, ...declared].join(' ')

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
