import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { OUTCOMES, REASONS, STEPS } from '../campaign/reason.ts'
import { TRIGGERS } from '../campaign/trigger.ts'
import { CHECKOUT, readConfig, SETTINGS } from '../config.ts'
import { sourceTemplates } from '../connect/custom/templates.ts'
import { type ImportKind, KINDS, TARGETS } from '../connect/import/targets.ts'
import { fail } from '../errors.ts'
import { openapiText } from '../http/openapi.ts'
import type { Relation } from '../lake/relation.ts'
import { columnsOf, RELATIONS, type RelationName } from '../lake/relations.ts'
import { modelDocs } from '../model/docs.ts'
import { loadModels } from '../model/graph.ts'
import { OPS } from '../ops/all.ts'
import { NUMBERS } from '../ops/numbers.ts'
import { VALUE_PARAMETERS } from '../segment/comparison.ts'
import { describeCatalog } from '../segment/describe.ts'
import { inRules, PROPERTIES } from '../segment/property.ts'
import { describeVocabulary } from '../segment/vocabulary-table.ts'
import type { Command } from './command.ts'
import { usage } from './help.ts'

const row = (...cells: readonly string[]) =>
  `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`
const markdown = (header: readonly string[], rows: readonly (readonly string[])[]) =>
  [row(...header), row(...header.map(() => '---')), ...rows.map((cells) => row(...cells))].join('\n')

const settings = () =>
  markdown(
    ['setting', 'default', 'what'],
    Object.entries(SETTINGS).map(([name, { default: value, what }]) => [`\`${name}\``, `\`${value}\``, what]),
  )

const commandTable = (all: readonly Command[]) =>
  markdown(
    ['command', 'what'],
    all.map((one) => [`\`recoup ${usage(one)}\``, one.what]),
  )

function lake(): string {
  return (Object.keys(RELATIONS) as RelationName[])
    .map((name) => {
      const { kind, schemaVersion, key, columns, derived = {} } = RELATIONS[name] as Relation
      const since = (column: string) =>
        derived[column]
          ? `: \`${derived[column].as}\`; files before schema ${derived[column].since} lack it`
          : ''
      const what = kind === 'append' ? 'rows are final' : 'the row with the greatest tick of a key is current'
      const listed = columnsOf(name)
        .filter((column) => column in columns)
        .map((column) => [
          `\`${column}\``,
          `\`${columns[column]?.[0]}\``,
          `${columns[column]?.[1]}${since(column)}`,
        ])
      const head = `## ${name}\n\nSchema ${schemaVersion}, key \`${key.join(', ')}\`: ${what}.`
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

function operators(): string {
  const { operators: rows, aggregates } = describeCatalog()
  const named = ({ name, alias, not }: (typeof rows)[number]) =>
    `\`${name}\`${alias ? ` or \`${alias}\`` : ''}${not ? `, the complement of \`${not}\`` : ''}`
  return [
    markdown(
      ['operator', 'takes', 'meaning'],
      rows.map((row) => [named(row), row.takes.join(', '), row.help]),
    ),
    markdown(
      ['aggregate', 'of', 'meaning'],
      aggregates.map(({ name, of, help }) => [`\`${name}\``, of.join(', '), help]),
    ),
  ].join('\n\n')
}

const fields = () =>
  markdown(
    ['source', 'field', 'type', 'meaning'],
    describeCatalog().sources.flatMap((source) => [
      [`\`${source.name}\``, '', source.rows === 'one' ? 'one row' : 'many rows', source.help],
      ...source.fields.map(({ name, type, help, values }) => [
        '',
        `\`${name}\``,
        type,
        values ? `${help}: ${values.join(', ')}` : help,
      ]),
    ]),
  )

function conditions(): string {
  const { conditions: rows, operators: compared } = describeVocabulary()
  return [
    markdown(
      ['condition', 'of', 'parameters', 'meaning'],
      rows.map(({ id, itemTypes, parameters, description }) => [
        `\`${id}\``,
        itemTypes.join(', '),
        parameters
          .filter((parameter) => !(parameter.id in VALUE_PARAMETERS))
          .map((parameter) => `\`${parameter.id}\`${parameter.required ? '' : ' (optional)'}`)
          .join(', '),
        description,
      ]),
    ),
    markdown(
      ['comparison operator', 'takes', 'value', 'meaning'],
      compared.map(({ id, types, value, description }) => [
        `\`${id}\``,
        types.join(', '),
        VALUES[value],
        description,
      ]),
    ),
  ].join('\n\n')
}

const VALUES = {
  one: '`propertyValue`',
  part: '`propertyValue`',
  days: '`propertyValue`: `{ days }`',
  list: '`propertyValues`',
  pair: '`propertyValues`, two',
  none: 'none',
}

const properties = () =>
  markdown(
    ['of', 'propertyName', 'type', 'in segments', 'meaning'],
    PROPERTIES.map((property) => [
      property.target,
      `\`${property.propertyName}\``,
      property.multivalued ? `list of ${property.type}` : property.type,
      inRules(property) ? 'yes' : 'no',
      property.description,
    ]),
  )

const templates = () =>
  markdown(
    ['template', 'for', 'event types'],
    [...sourceTemplates().values()].map(({ key, description, event_definitions }) => [
      `\`${key}\``,
      description,
      event_definitions.map(({ type }) => `\`${type}\``).join(', '),
    ]),
  )

const triggers = () =>
  markdown(
    ['trigger', 'occurs when', 'type of campaign', 'occurrence', 'carries'],
    Object.entries(TRIGGERS).map(([id, { what, type, occurrence, facts }]) => [
      `\`${id}\``,
      what,
      `\`${type}\``,
      `\`${occurrence}\``,
      Object.keys(facts)
        .map((name) => `\`${name}\``)
        .join(', '),
    ]),
  )

const reasons = () =>
  markdown(
    ['code', 'of step', 'label', 'level', 'rule'],
    Object.entries(REASONS).map(([code, { step, label, level, rule }]) => [
      `\`${code}\``,
      step,
      label,
      level,
      rule,
    ]),
  )

const meanings = (name: string, table: Readonly<Record<string, string>>) =>
  markdown(
    [name, 'meaning'],
    Object.entries(table).map(([key, meaning]) => [`\`${key}\``, meaning]),
  )

/** Generated parts of docs/campaigns.md by their marker. */
const CAMPAIGN_PARTS: Parts = {
  triggers,
  steps: () => meanings('step', STEPS),
  outcomes: () => meanings('outcome', OUTCOMES),
  reasons,
}

/** What the API says, as statements that anyone can run. */
const numbers = () =>
  [
    '## Numbers of the API',
    'Each number that an operation answers from models comes out of one statement as well, for `recoup sql` or `make sql`; with `--as-of` as of a past instant. Columns are called like the fields; put the id of the call in place of a name with `$`. The members of a segment are those of the SQL that `GET /v1/segments/{id}/sql` shows, and so is what an estimate, a preview or a count of a rule comes to.',
    ...NUMBERS.map(({ operation, query, item, at, sql }) => {
      const found = OPS.find(({ name }) => name === operation)?.route
      const route = item ? found?.replace(/\{\w+\}/, item) : found
      return `\`${route}${query ? '?…' : ''}\`${at ? `, \`${at}\`` : ''}:\n\n\`\`\`sql\n${sql};\n\`\`\``
    }),
  ].join('\n\n')

type Parts = Record<string, () => string>

/** Generated parts of the README by their marker. */
const partsOf = (all: readonly Command[]): Parts => ({
  settings,
  templates,
  commands: () => commandTable(all),
  operators,
  fields,
  conditions,
  properties,
  ...Object.fromEntries(KINDS.map((kind) => [`import ${kind}`, () => imports(kind)])),
})

/** The text with each part between its markers made anew. */
function withParts(file: string, text: string, parts: Parts): string {
  let after = text
  for (const [name, make] of Object.entries(parts)) {
    const [start, end] = [`<!-- generated: ${name} -->`, `<!-- end: ${name} -->`]
    const from = after.indexOf(start)
    const to = after.indexOf(end)
    if (from < 0 || to < from)
      throw fail('not_found', `${file}: the markers "${start}" and "${end}" are missing`)
    after = `${after.slice(0, from + start.length)}\n${make()}\n${after.slice(to)}`
  }
  return after
}

/** What a file of the checkout holds; nothing when it is missing. */
export function textOf(file: string): string {
  const path = join(CHECKOUT, file)
  return existsSync(path) ? readFileSync(path, 'utf8') : ''
}

/** The texts of all generated files by their name, made anew; `all`: every command of the program. */
export const generatedTexts = async (all: readonly Command[]): Promise<Record<string, string>> => ({
  'README.md': withParts('README.md', textOf('README.md'), partsOf(all)),
  'docs/lake.md': withParts('docs/lake.md', textOf('docs/lake.md'), { lake }),
  'docs/campaigns.md': withParts('docs/campaigns.md', textOf('docs/campaigns.md'), CAMPAIGN_PARTS),
  'docs/models.md': `${modelDocs(await loadModels())}\n${numbers()}\n`,
  'docs/openapi.json': openapiText(OPS, readConfig({})),
})
