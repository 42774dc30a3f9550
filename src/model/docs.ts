import type { Model } from './graph.ts'
import { PARAMS, SOURCES } from './source.ts'

const INTRODUCTION = `# Models

Generated from the headers of \`models/\`; do not edit. A model is one SELECT and its file name is the name of its
relation; \`make sql\` opens a shell in which \`from ltv limit 5\` works. Staging models give the sources their rules
(merged customers, test orders, the instant \`as_of\`); marts read staging models and each other, never a source.
Every row belongs to one brand. Times are UTC, money is DECIMAL(18,2), what everyone spent DECIMAL(38,2).`

/** The text of docs/models.md for models in dependency order. */
export function modelDocs(models: readonly Model[]): string {
  const inGroup = (layer: Model['layer']) =>
    models.filter((model) => model.layer === layer).sort((a, b) => (a.name < b.name ? -1 : 1))
  const sections = (layer: Model['layer']) => inGroup(layer).map((model) => section(model, models))
  const params = Object.entries(PARAMS).map(([name, [type, what]]) => `| ${name} | ${type} | ${what} |`)
  return `${[
    INTRODUCTION,
    lineage(models),
    '## Marts',
    ...sections('mart'),
    '## Staging',
    ...sections('staging'),
    '## Parameters',
    'One row, `params`, that every model may read.',
    ['| column | type | what |', '|---|---|---|', ...params].join('\n'),
  ].join('\n\n')}\n`
}

function lineage(models: readonly Model[]): string {
  const edges = models.flatMap(({ name, reads }) =>
    reads
      .filter((read) => read !== 'params')
      .map((read) => `  ${read}${SOURCES.includes(read) ? `[(${read})]` : ''} --> ${name}`),
  )
  return ['```mermaid', 'graph LR', ...edges, '```'].join('\n')
}

function section(model: Model, models: readonly Model[]): string {
  const list = (names: string[]) => (names.length ? names.map((name) => `\`${name}\``).join(', ') : 'none')
  const readers = models.filter(({ reads }) => reads.includes(model.name)).map(({ name }) => name)
  return [
    `### ${model.name}`,
    `${model.what[0]?.toUpperCase()}${model.what.slice(1)}. [SQL](../${model.file})`,
    [
      `- One row per: ${model.grain.map((column) => `\`${column}\``).join(', ')}`,
      `- Refreshed: ${model.refresh}`,
      `- Reads: ${list(model.reads)}`,
      `- Read by: ${list(readers.sort())}`,
    ].join('\n'),
    ['| column | type |', '|---|---|', ...model.columns.map(([name, type]) => `| ${name} | ${type} |`)].join(
      '\n',
    ),
  ].join('\n\n')
}
