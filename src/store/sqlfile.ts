import { readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { CHECKOUT } from '../config.ts'

/** All files of a folder tree with an ending, by file name without it; a name used twice is an error. */
export function sqlFiles(folder: string): Map<string, string> {
  const files = new Map<string, string>()
  for (const entry of readdirSync(join(CHECKOUT, folder), { recursive: true, encoding: 'utf8' }).sort()) {
    if (!entry.endsWith('.sql')) continue
    const name = basename(entry, '.sql')
    if (files.has(name)) throw new Error(`${folder}/${entry}: a statement named "${name}" exists already`)
    files.set(name, readFileSync(join(CHECKOUT, folder, entry), 'utf8').trim())
  }
  return files
}

const cache = new Map<string, Map<string, string>>()

/** Text of a named statement of sql/postgres or sql/duckdb. */
export function statement(engine: 'postgres' | 'duckdb', name: string): string {
  let files = cache.get(engine)
  if (!files) {
    files = sqlFiles(`sql/${engine}`)
    cache.set(engine, files)
  }
  const text = files.get(name)
  if (text === undefined) throw new Error(`no statement "${name}" in sql/${engine}`)
  return text
}
