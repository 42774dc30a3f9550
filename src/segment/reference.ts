import type { Statements } from '../op.ts'
import { refusal } from './complaint.ts'
import type { Definition } from './definition.ts'
import { referencesOf } from './tree.ts'

interface Referred {
  id: string
  name: string
  status: 'active' | 'archived'
  refers_to: string[]
  first_evaluated_at: Date | null
  generation: number
}

export interface ReferenceOptions {
  /** They must have been evaluated by then. */
  asOf?: Date | undefined
  /** The definition is the segment's own: of an archived one it stays readable when those that it names were archived, too. */
  isSaved?: boolean
}

/**
 * Checks that the segments which a definition names are there, active, and don't lead back to the segment itself
 * (null for one that is not saved). Throws `bad_request` at the path. Returns the newest generation of their members.
 */
export async function checkReferences(
  db: Pick<Statements, 'many'>,
  segmentId: string | null,
  definition: Definition,
  { asOf, isSaved = false }: ReferenceOptions = {},
): Promise<number> {
  const references = referencesOf(definition)
  if (references.length === 0) return 0
  const rows = await db.many<Referred>('segments_referred')
  const segments = new Map(rows.map((row) => [row.id, row]))
  const isArchived = isSaved && segmentId !== null && segments.get(segmentId)?.status === 'archived'
  for (const reference of references) {
    const { path } = reference
    const segment = segments.get(reference.segmentId)
    if (!segment) throw refusal(path, 'there is no segment of this id')
    if (segment.status === 'archived' && !isArchived) throw refusal(path, `"${segment.name}" is archived`)
    if (asOf && !(segment.first_evaluated_at && segment.first_evaluated_at <= asOf))
      throw refusal(path, `"${segment.name}" had no members yet at ${asOf.toISOString()}`)
    const circle = wayTo(segmentId, segment, segments)
    if (circle) throw refusal(path, `leads back to this segment: ${circle.join(' → ')}`)
  }
  return Math.max(...references.map(({ segmentId: id }) => segments.get(id)?.generation ?? 0))
}

/** Names of the segments from one to that which it must not lead to; null when it does not. */
function wayTo(target: string | null, from: Referred, segments: Map<string, Referred>): string[] | null {
  const seen = new Set<string>()
  const visit = (segment: Referred): string[] | null => {
    if (segment.id === target) return [segment.name]
    if (seen.has(segment.id)) return null
    seen.add(segment.id)
    for (const id of segment.refers_to) {
      const next = segments.get(id)
      const way = next && visit(next)
      if (way) return [segment.name, ...way]
    }
    return null
  }
  return visit(from)
}
