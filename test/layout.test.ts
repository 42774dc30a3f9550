import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import t from 'tap'
import { CHECKOUT } from '../src/config.ts'
import { loadModels } from '../src/model/graph.ts'
import { isOwn } from '../src/model/own.ts'
import { SOURCES } from '../src/model/source.ts'

/** Imports go only to the left, or stay in their own group. */
const ORDER: readonly (readonly string[])[] = [
  ['abreast', 'answer', 'config', 'errors', 'log', 'op', 'fields', 'job', 'post', 'time'],
  ['store'],
  ['access', 'event'],
  ['identity'],
  ['lake'],
  ['model'],
  ['segment'],
  ['connect'],
  ['campaign'],
  ['ops', 'jobs'],
  ['http'],
  ['app'],
  ['ready'],
  ['serve', 'work', 'supervise'],
  ['main', 'cli'],
]

/** Neither calls the other, although they stand side by side. */
const APART = ['ops', 'jobs']

interface Import {
  /** File and line, for the message. */
  at: string
  from: string
  to: string
  path: string
}

const filesIn = (folder: string) =>
  readdirSync(join(CHECKOUT, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => join(CHECKOUT, folder, name))

const files = ['src', 'jobs'].flatMap(filesIn)

const IMPORT = /\b(?:from|import)\s*\(?\s*(['"])(\.[^'"]+)\1/g

const imports: Import[] = files.flatMap((file) =>
  [...readFileSync(file, 'utf8').matchAll(IMPORT)].map((match) => ({
    at: `${relative(CHECKOUT, file)}:${match.input.slice(0, match.index).split('\n').length}`,
    from: partOf(file),
    to: partOf(resolve(dirname(file), match[2] as string)),
    path: match[2] as string,
  })),
)

/** The part of the program that a file belongs to: a folder or file right under src, or `jobs`. */
function partOf(file: string): string {
  const [top, part] = relative(CHECKOUT, file).split('/') as [string, string]
  return top === 'src' ? part.replace(/\.ts$/, '') : top
}

const place = (part: string) => ORDER.findIndex((group) => group.includes(part))
const told = (wrong: Import[]) => wrong.map(({ at, from, to }) => `${at}: ${from} imports ${to}`)

t.test('every part of the program has its place in the order', async (t) => {
  t.ok(imports.length > 20, 'imports are found at all')
  t.same(
    [...new Set(files.map(partOf))].filter((part) => place(part) < 0),
    [],
  )
  t.same(told(imports.filter(({ to }) => place(to) < 0)), [])
})

t.test('imports go only to the left', async (t) => {
  t.same(told(imports.filter(({ from, to }) => place(to) > place(from))), [])
})

t.test('jobs and operations never import each other', async (t) => {
  t.same(
    told(imports.filter(({ from, to }) => from !== to && APART.includes(from) && APART.includes(to))),
    [],
  )
})

t.test('imports name the file with its ending', async (t) => {
  t.same(told(imports.filter(({ path }) => !path.endsWith('.ts'))), [])
})

t.test('values that a file exports are named where another imports it', async (t) => {
  const importers = new Map<string, string[]>()
  for (const file of [...files, ...['bench', 'test'].flatMap(filesIn)]) {
    const text = readFileSync(file, 'utf8')
    for (const [, , path = ''] of text.matchAll(IMPORT)) {
      const imported = resolve(dirname(file), path)
      importers.set(imported, [...(importers.get(imported) ?? []), text])
    }
  }
  const unused = files.flatMap((file) => {
    const exported = readFileSync(file, 'utf8').matchAll(
      /^export (?:async )?(?:const|function\*?|class) (\w+)/gm,
    )
    return [...exported]
      .filter(([, name]) => !importers.get(file)?.some((text) => new RegExp(`\\b${name}\\b`).test(text)))
      .map(([, name]) => `${relative(CHECKOUT, file)}: ${name}`)
  })
  t.same(unused, [])
})

t.test('one file loads DuckDB, so that its allocator is set before', async (t) => {
  const loads = /^(?:import (?!type )|export )[^']*'@duckdb\/node-(?:api|bindings)[/']/m
  t.same(
    files.filter((file) => loads.test(readFileSync(file, 'utf8'))).map((file) => relative(CHECKOUT, file)),
    ['src/store/duckdb-api.ts'],
  )
})

/** What makes relations in a session that has models. */
const MAKES =
  /^(src\/(segment|model)\/.*|src\/lake\/(generation|serving|session|sources|write-rows)\.ts|sql\/duckdb\/(reading|refresh)\/.*)$/

/** What stands in the names of relations, by how the program calls it. */
const CALLED: Readonly<Record<string, readonly string[]>> = {
  all: ['orders_versions'],
  'cameOf(relation)': ['came_stg_orders'],
  'copyOf(copied)': ['recent_orders'],
  current: ['orders_changed'],
  'index + 1': ['1'],
  later: ['orders_versions'],
  model: ['stg_orders'],
  name: ['rfm', 'churn'],
  named: ['member_before', 'member_lake'],
  orders: ['orders_source'],
  'pass.source': ['customer_profile'],
  'relation.name': ['stg_orders'],
  shared: ['events_versions'],
  'sourceName(relation)': ['orders_source'],
  table: ['passed_stg_orders'],
  target: ['members'],
  to: ['touched', 'remade', 'asked_of_stg_orders'],
}

/** Names as they can come out; of one that nobody foresaw the name as it is written. */
const spelled = ({ path, name }: { path: string; name: string }): string[] =>
  name
    .replaceAll(`\${relation}`, path.startsWith('src/lake/') ? 'orders' : 'stg_orders')
    .split(/\$\{([^}]+)\}/)
    .reduce<string[]>(
      (begun, part, at) =>
        begun.flatMap((start) =>
          (at % 2 ? (CALLED[part] ?? [`\${${part}}`]) : [part]).map((one) => start + one),
        ),
      [''],
    )

t.test('no model can have the name of a relation that refreshes make', async (t) => {
  const statements = readdirSync(join(CHECKOUT, 'sql/duckdb'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.sql'))
    .map((name) => join(CHECKOUT, 'sql/duckdb', name))
  const made = [...files, ...statements].flatMap((file) => {
    const path = relative(CHECKOUT, file)
    if (!MAKES.test(path)) return []
    const text = readFileSync(file, 'utf8')
    const constants = new Map(
      [...text.matchAll(/const ([A-Z_]+) = '(\w+)'/g)].map(([, name, value]) => [`\${${name}}`, value]),
    )
    const names = [
      ...text.matchAll(
        /\b(?:create (?:or replace )?(?:temp )?(?:table|view|macro|\$\{\w+\})|rename to) ((?:\w|[.()]|\$\{[^}]+\})+)/g,
      ),
      // Names under which one is created elsewhere.
      ...text.matchAll(/\b(?:to|table|replaced|current|later|shared|all) = `((?:\w|\$\{[^}]+\})+)`/g),
      ...text.matchAll(/\bmade\(\s*`((?:\w|\$\{[^}]+\})+)`/g),
      ...text.matchAll(/\b(?:named = |makeTable\(\s*duck,\s*|served\(\s*)'([a-z_]+)'/g),
    ]
    return names.map(([, name = '']) => ({ path, name: constants.get(name) ?? name }))
  })
  t.ok(made.length > 80, 'names are found at all')
  const known = new Set([...(await loadModels()).map(({ name }) => name), ...SOURCES, 'params'])
  const isTaken = (name: string) => known.has(name) || isOwn(name, (other) => known.has(other))
  // Those in the database of changes are beside no marts but the ones that they replace.
  const free = made.filter(
    (each) => !/^(published|changes)\./.test(each.name) && !spelled(each).every(isTaken),
  )
  t.same(free, [])
})
