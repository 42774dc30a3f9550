import { mkdirSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { errorCode, fail } from '../errors.ts'

/**
 * Makes a folder and those above it that are missing, for their owner alone. `what`: begins the message of what is in
 * the way. Folder by folder: the recursive form of mkdir never returns where the kernel refuses names, as under /proc.
 */
export function makeFolder(what: string, path: string): void {
  const found = statSync(path, { throwIfNoEntry: false })
  if (found?.isDirectory()) return
  if (found) throw fail('unavailable', `${what}: ${path} is a file, where a folder is needed.`)
  const parent = dirname(path)
  if (parent !== path) makeFolder(what, parent)
  try {
    mkdirSync(path, { mode: 0o700 })
  } catch (cause) {
    if (errorCode(cause) === 'EEXIST') return
    throw fail('unavailable', `${what}: the folder ${path} cannot be made (${errorCode(cause)}).`, { cause })
  }
}
