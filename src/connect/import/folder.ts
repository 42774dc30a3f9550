import { randomUUID } from 'node:crypto'
import { tmpdir } from 'node:os'
import { type LockedFolder, lockedFolder, removeUnlocked } from '../../store/locked-folder.ts'

const NAME = /^(recoup-import-[0-9a-f-]{36})(\.lock)?$/

/** A temporary folder of one import. Those of killed imports are removed first. */
export async function importFolder(): Promise<LockedFolder> {
  await removeStale()
  return await lockedFolder(tmpdir(), `recoup-import-${randomUUID()}`)
}

/** Those of imports that were killed. */
export const removeStale = (): Promise<void> => removeUnlocked(tmpdir(), NAME)
