import type { LakeFile } from './manifest.ts'

/** Files of one level that are merged into one of the next: at most 11 × 4 levels stand side by side. */
const FAN_IN = 12
/** While new events come late, merging waits until so many of a level stand side by side. */
const FAN_IN_LATE = 48
const TOP_LEVEL = 4

/** The oldest files of the lowest level that has enough of them. */
export function mergeable(files: readonly LakeFile[], isLate = false): LakeFile[] | null {
  const enough = isLate ? FAN_IN_LATE : FAN_IN
  for (let level = 0; level < TOP_LEVEL; level++) {
    const same = files.filter((file) => file.level === level)
    if (same.length >= enough) return same.slice(0, FAN_IN)
  }
  return null
}

/** The level of what comes of merging these files. */
export const levelAbove = (files: readonly LakeFile[]): number =>
  Math.min(TOP_LEVEL, (files[0]?.level ?? 0) + 1)
