import { parseStored } from '../event/exact.ts'
import type { Statements } from '../op.ts'
import { SOURCES } from './catalog.ts'
import { parseDefinition } from './definition.ts'
import { saveNextVersion } from './saved.ts'

const FIELD = 'event_kind'
/** Sources whose rows are of any event type; of others the names of kinds are their own. */
const OF_EVENT_TYPES = new Set(
  Object.entries(SOURCES).flatMap(([name, { fields }]) =>
    fields[FIELD] && !fields[FIELD].oneOf ? [name] : [],
  ),
)
/** How filters call the field of such a source. */
export const isEventTypeField = (field: string) =>
  [...OF_EVENT_TYPES].some((source) => field === `${source}.${FIELD}`)
/** Operators that compare with a type by its whole name. */
const BY_NAME = new Set(['=', 'equals', '!=', 'notEquals', 'in', 'notIn'])

/** A definition in which an event type has another name; the very same one when it does not name the type. */
export function renamedIn<Node>(definition: Node, from: string, to: string): Node {
  return renamedNode(definition, '', from, to) as Node
}

/** `outer`: the source that stands further out. */
function renamedNode(definition: unknown, outer: string, from: string, to: string): unknown {
  if (Array.isArray(definition)) {
    const items = definition.map((item) => renamedNode(item, outer, from, to))
    return items.some((item, index) => item !== definition[index]) ? items : definition
  }
  if (typeof definition !== 'object' || definition === null) return definition
  const node = definition as Record<string, unknown>
  const source = typeof node.source === 'string' ? node.source : outer
  const isNaming = node.field === FIELD && BY_NAME.has(node.op as string) && OF_EVENT_TYPES.has(source)
  const entries = Object.entries(node).map(([key, value]) => [
    key,
    isNaming && key === 'value' ? renamedValue(value, from, to) : renamedNode(value, source, from, to),
  ])
  return entries.some(([key, value]) => value !== node[key as string]) ? Object.fromEntries(entries) : node
}

/** The very same value when it does not name the type. */
export function renamedValue(value: unknown, from: string, to: string): unknown {
  if (value === from) return to
  return Array.isArray(value) && value.includes(from)
    ? [...new Set(value.map((one) => (one === from ? to : one)))]
    : value
}

/**
 * Gives an event type its new name in the rules of all active segments: each gets a next version. A name that is still
 * that of another type is still meant.
 */
export async function renameEventInSegments(
  tx: Statements,
  { from, to, by, isStillUsed }: { from: string; to: string; by: string; isStillUsed: boolean },
): Promise<void> {
  if (isStillUsed) return
  await tx.one('segments_of_brand_lock')
  const naming = await tx.many<{ id: string; version: number; definition: string }>('segments_naming', [from])
  for (const { id, version, definition: saved } of naming) {
    const definition = parseStored(saved)
    const renamed = renamedIn(definition, from, to)
    if (renamed === definition) continue
    const tree = parseDefinition(renamed, { isSaved: true })
    await saveNextVersion(tx, { id, version, tree, definition: renamed, createdBy: by })
  }
}
