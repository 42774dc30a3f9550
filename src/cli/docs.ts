import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { CHECKOUT, SETTINGS } from '../config.ts'
import { type ImportKind, TARGETS } from '../connect/import/targets.ts'
import { fail } from '../errors.ts'
import { columnsOf, RELATIONS, type Relation, type RelationName } from '../lake/relations.ts'
import { modelDocs } from '../model/docs.ts'
import { loadModels } from '../model/graph.ts'
import { command } from './command.ts'
import { COMMANDS } from './commands.ts'

const row = (...cells: readonly string[]) =>
  `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`
const markdown = (header: readonly string[], rows: readonly (readonly string[])[]) =>
  [row(...header), row(...header.map(() => '---')), ...rows.map((cells) => row(...cells))].join('\n')

const settings = () =>
  markdown(
    ['setting', 'default', 'what'],
    Object.entries(SETTINGS).map(([name, { default: value, what }]) => [`\`${name}\``, `\`${value}\``, what]),
  )

const commands = () =>
  markdown(
    ['command', 'what'],
    COMMANDS.map(({ name, arguments: positional, what }) => [
      `\`recoup ${name}${positional ? ` ${positional}` : ''}\``,
      what,
    ]),
  )

function lake(): string {
  return (Object.keys(RELATIONS) as RelationName[])
    .map((name) => {
      const { kind, schemaVersion, key, columns } = RELATIONS[name] as Relation
      const what = kind === 'append' ? 'rows are final' : 'the row with the greatest tick of a key is current'
      const listed = columnsOf(name)
        .filter((column) => column in columns)
        .map((column) => [`\`${column}\``, `\`${columns[column]?.[0]}\``, columns[column]?.[1] ?? ''])
      const head = `**${name}** (schema ${schemaVersion}, key ${key.join(', ')}): ${what}. Before these: \`brand_id UUID\`, \`tick BIGINT\`.`
      return `${head}\n\n${markdown(['column', 'type', 'what'], listed)}`
    })
    .join('\n\n')
}

const imports = (kind: ImportKind) =>
  markdown(
    ['target field', 'type', 'what'],
    Object.entries(TARGETS[kind]).map(([name, { type, what, required }]) => [
      `\`${name}\`${required ? ' (required)' : ''}`,
      type,
      what,
    ]),
  )

/** Generated parts of the documentation: file → marker → text. */
const PARTS: Record<string, Record<string, () => string>> = {
  'README.md': {
    settings,
    commands,
    lake,
    orders: () => imports('orders'),
    customers: () => imports('customers'),
  },
}

/** Files that are generated as a whole. */
const WHOLE: Record<string, () => Promise<string>> = {
  'docs/models.md': async () => modelDocs(await loadModels()),
}

/** The file as it is, and as it should be: each part between its markers, or all of it, made anew. */
async function generated(file: string): Promise<{ before: string; after: string }> {
  const path = join(CHECKOUT, file)
  const before = existsSync(path) ? readFileSync(path, 'utf8') : ''
  const whole = WHOLE[file]
  if (whole) return { before, after: await whole() }
  let after = before
  for (const [name, make] of Object.entries(PARTS[file] ?? {})) {
    const [start, end] = [`<!-- generated: ${name} -->`, `<!-- end: ${name} -->`]
    const from = after.indexOf(start)
    const to = after.indexOf(end)
    if (from < 0 || to < from)
      throw fail('not_found', `${file}: the markers "${start}" and "${end}" are missing`)
    after = `${after.slice(0, from + start.length)}\n${make()}\n${after.slice(to)}`
  }
  return { before, after }
}

export const docsCommands = [
  command({
    name: 'docs',
    what: 'Write the generated parts of the documentation anew',
    options: { check: { type: 'boolean', what: 'Change nothing; fail when a part is out of date' } },
    run: async ({ values }) => {
      const stale: string[] = []
      for (const file of [...Object.keys(PARTS), ...Object.keys(WHOLE)]) {
        const { before, after } = await generated(file)
        if (before === after) continue
        stale.push(file)
        if (values.check) continue
        mkdirSync(dirname(join(CHECKOUT, file)), { recursive: true })
        writeFileSync(join(CHECKOUT, file), after)
      }
      if (values.check && stale.length)
        throw fail('conflict', `Out of date: ${stale.join(', ')}. Run recoup docs.`)
      return { written: stale }
    },
    text: ({ written }) => (written.length ? `Wrote ${written.join(', ')}` : 'All generated text is fresh.'),
  }),
]
