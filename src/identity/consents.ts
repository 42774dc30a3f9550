import type { Ask } from './subject.ts'

/**
 * All contacts of persons who were made one with another, taken apart, or linked to one more contact show what was said by
 * any of theirs. `subjects`: of each, one that belongs to them.
 */
export async function mergeConsents(ask: Ask, subjects: readonly number[]): Promise<void> {
  if (subjects.length === 0) return
  await ask('contacts_merged_hold', [subjects])
  await ask('consents_merged', [subjects])
}
