import { randomUUID } from 'node:crypto'
import { mkdirSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { takeLock } from '../../store/embedded/lock.ts'

const NAME = /^(recoup-import-[0-9a-f-]{36})(\.lock)?$/

export interface ImportFolder {
  path: string
  remove(): void
}

/**
 * A temporary folder of one import. It is locked from before it is there until it is gone, so that those of killed
 * imports are told apart, and removed first.
 */
export async function importFolder(): Promise<ImportFolder> {
  await removeStale()
  const path = join(tmpdir(), `recoup-import-${randomUUID()}`)
  const lock = await takeLock(`${path}.lock`, 'exclusive', 0).catch(() => null)
  mkdirSync(path, { mode: 0o700 })
  return {
    path,
    remove: () => {
      removeBoth(path)
      lock?.release()
    },
  }
}

/** Those of imports that were killed. */
export async function removeStale(): Promise<void> {
  const names = new Set(readdirSync(tmpdir()).flatMap((name) => NAME.exec(name)?.[1] ?? []))
  for (const name of names) {
    const path = join(tmpdir(), name)
    // Of another user, perhaps, or there is no flock here: what cannot be removed is left.
    const lock = await takeLock(`${path}.lock`, 'exclusive', 0).catch(() => null)
    if (!lock) continue
    try {
      removeBoth(path)
    } catch {}
    lock.release()
  }
}

function removeBoth(path: string): void {
  rmSync(path, { recursive: true, force: true })
  rmSync(`${path}.lock`, { force: true })
}
