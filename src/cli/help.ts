import { SETTINGS } from '../config.ts'
import type { Command } from './command.ts'

/** The commands, a line each. */
export function overview(commands: readonly Command[]): string {
  const width = Math.max(...commands.map((one) => usage(one).length))
  const lines = commands.map((one) => `  ${usage(one).padEnd(width)}  ${one.what}`)
  return [
    'recoup: a customer-recovery data service for online stores',
    '',
    'Usage: recoup COMMAND [options]',
    '',
    ...lines,
    '',
    'Every command takes --help, and --json for one JSON document on stdout.',
    `Settings come from the environment: ${Object.keys(SETTINGS).join(', ')}.`,
  ].join('\n')
}

const usage = ({ name, arguments: positional }: Command) => (positional ? `${name} ${positional}` : name)

export function commandHelp(command: Command): string {
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
  ].join('\n')
}
