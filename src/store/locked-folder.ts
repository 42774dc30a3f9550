import { mkdir, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { errorCode } from '../errors.ts'
import { takeLock } from './embedded/lock.ts'

export interface LockedFolder {
  path: string
  remove(): Promise<void>
}

/** Another process may look at a lock that was just made. */
const LOCK_SECONDS = 1

/**
 * A folder of one piece of work, of a new name. It is locked from before it is there until it is gone, so that those of
 * killed work are told apart.
 */
export async function lockedFolder(parent: string, name: string): Promise<LockedFolder> {
  await mkdir(parent, { recursive: true, mode: 0o700 })
  const path = join(parent, name)
  const lock = await takeLock(`${path}.lock`, 'exclusive', LOCK_SECONDS).catch(() => null)
  // Whoever finds a lock that nobody holds takes the folder for that of killed work.
  if (!lock) await rm(`${path}.lock`, { force: true })
  try {
    await mkdir(path, { mode: 0o700 })
  } catch (error) {
    lock?.release()
    throw error
  }
  return {
    path,
    remove: async () => {
      await removeBoth(path)
      lock?.release()
    },
  }
}

/** Removes the folders of killed work, by the part of their names, or of those of their locks, that `pattern` captures. */
export async function removeUnlocked(parent: string, pattern: RegExp): Promise<void> {
  // Made by whoever has work: where the disk of a lake is not mounted nothing is to be.
  const entries = await readdir(parent).catch((error: unknown) => {
    if (errorCode(error) === 'ENOENT') return []
    throw error
  })
  const names = new Set(entries.flatMap((name) => pattern.exec(name)?.[1] ?? []))
  for (const name of names) {
    const path = join(parent, name)
    // Of another user, perhaps, or there is no flock here: what cannot be removed is left.
    const lock = await takeLock(`${path}.lock`, 'exclusive', 0).catch(() => null)
    if (!lock) continue
    await removeBoth(path).catch(() => {})
    lock.release()
  }
}

async function removeBoth(path: string): Promise<void> {
  await rm(path, { recursive: true, force: true })
  await rm(`${path}.lock`, { force: true })
}
