import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { CHECKOUT } from '../config.ts'

/** The text of the changelog, newest entry first. */
export const readChangelog = () => readFileSync(join(CHECKOUT, 'docs/changelog.md'), 'utf8')

/** The date of its newest entry: the version of the public interface. */
export function interfaceVersion(changelog = readChangelog()): string {
  const date = /^## (\d{4}-\d\d-\d\d)$/m.exec(changelog)?.[1]
  if (!date) throw new Error('docs/changelog.md has no entry: a heading such as "## 2026-11-21" is missing')
  return date
}
