import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import t from 'tap'
import { CHECKOUT } from '../src/config.ts'

/** Imports go only to the left, or stay in their own group. */
const ORDER: readonly (readonly string[])[] = [
  ['config', 'errors', 'log', 'op', 'fields', 'job', 'time'],
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

const files = ['src', 'jobs'].flatMap((folder) =>
  readdirSync(join(CHECKOUT, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => join(CHECKOUT, folder, name)),
)

const imports: Import[] = files.flatMap((file) =>
  [...readFileSync(file, 'utf8').matchAll(/\b(?:from|import)\s*\(?\s*(['"])(\.[^'"]+)\1/g)].map((match) => ({
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
