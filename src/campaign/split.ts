import { createHash } from 'node:crypto'
import type { Branch } from './definition.ts'

/** The branch that a contact takes in a campaign: the same one every time, each as often as its weight says. */
export function branchOf(
  branches: readonly Branch[],
  campaignId: string,
  contactId: string,
): Branch | undefined {
  const total = branches.reduce((sum, { weight }) => sum + weight, 0)
  const share = createHash('sha256').update(`${campaignId} ${contactId}`).digest().readUIntBE(0, 6) / 2 ** 48
  let upTo = 0
  for (const branch of branches) {
    upTo += branch.weight
    if (share * total < upTo) return branch
  }
  return branches.at(-1)
}
