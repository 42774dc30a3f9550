import { readFileSync } from 'node:fs'
import { relative } from 'node:path'
import { type ParseArgsConfig, parseArgs } from 'node:util'

/**
 * The options of the benchmark that runs. With --help it prints them and what it measures, as the comment at its head
 * says, and ends; so it does with what is wrong about them.
 */
export function options<const Config extends ParseArgsConfig>(config: Config) {
  if (process.argv.slice(2).some((arg) => arg === '--help' || arg === '-h')) {
    process.stdout.write(`${helpOf(config)}\n`)
    process.exit()
  }
  try {
    return parseArgs(config)
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n\n${helpOf(config)}\n`)
    return process.exit(1)
  }
}

function helpOf({ options: named = {}, allowPositionals }: ParseArgsConfig): string {
  const script = process.argv[1] ?? ''
  const comment = /^\/\/ .*(\n\/\/ .*)*/m.exec(readFileSync(script, 'utf8'))?.[0] ?? ''
  const width = Math.max(...Object.keys(named).map((name) => name.length))
  return [
    `Usage: node ${relative('', script)} [options]${allowPositionals ? ' [which …]' : ''}`,
    '',
    comment.replace(/^\/\/ /gm, ''),
    '',
    ...Object.entries(named).map(([name, { default: value }]) =>
      `  --${name.padEnd(width)}  ${value === undefined ? '' : `default ${value}`}`.trimEnd(),
    ),
  ].join('\n')
}
