import { chmodSync, closeSync, fsyncSync, mkdirSync, openSync, statSync } from 'node:fs'
import { mkdir, open, readdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { errorCode, fail } from '../errors.ts'

/**
 * Makes a folder and those above it that are missing, for their owner alone, on disk for good. `what`: begins the message
 * of what is in the way. Folder by folder: the recursive form of mkdir never returns where the kernel refuses names, as under /proc.
 */
export function makeFolder(what: string, path: string): void {
  const found = statSync(path, { throwIfNoEntry: false })
  if (found?.isDirectory()) return
  if (found) throw fail('unavailable', `${what}: ${path} is a file, where a folder is needed.`)
  const parent = dirname(path)
  if (parent !== path) makeFolder(what, parent)
  try {
    mkdirSync(path, { mode: 0o700 })
    syncFolder(parent)
  } catch (cause) {
    if (errorCode(cause) === 'EEXIST') return
    throw fail('unavailable', `${what}: the folder ${path} cannot be made (${errorCode(cause)}).`, { cause })
  }
}

/** Of a folder that is there, is ours and is open to others: from here on it is not, where its disk knows modes. */
export function closeFolder(path: string): void {
  const found = statSync(path, { throwIfNoEntry: false })
  if (!found || found.uid !== process.getuid?.() || (found.mode & 0o077) === 0) return
  try {
    chmodSync(path, found.mode & 0o700)
  } catch {}
}

/** Has what is in a folder there for good: names are on disk once their folder is synced, not with their files. */
export function syncFolder(path: string): void {
  const folder = openSync(path, 'r')
  try {
    fsyncSync(folder)
  } finally {
    closeSync(folder)
  }
}

/** The same of a file or folder. */
export async function sync(path: string): Promise<void> {
  const handle = await open(path, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** A folder with all within it. */
export async function syncFolders(path: string): Promise<void> {
  const within = await readdir(path, { recursive: true, withFileTypes: true })
  for (const one of within) if (one.isDirectory()) await sync(join(one.parentPath, one.name))
  await sync(path)
}

/** Makes a folder, by its absolute path, and those above it that are missing, for their owner alone, on disk for good. */
export async function makeFolders(path: string): Promise<void> {
  const first = await mkdir(path, { recursive: true, mode: 0o700 })
  if (first === undefined) return
  for (let made = path; made.length >= first.length; made = dirname(made)) await sync(dirname(made))
}
