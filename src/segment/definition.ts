import { isObject, parseStored } from '../event/exact.ts'
import { BUILT_IN } from './built-in.ts'
import type { SourceName } from './catalog.ts'
import { refusal, shown } from './complaint.ts'
import { CONDITION_KEYS, readCondition, type Walk } from './condition.ts'
import { readSource } from './name.ts'
import { LIMITS } from './operators.ts'
import type { Tree } from './tree.ts'
import { readObject } from './value.ts'

export type Definition = Tree

export interface DefinitionContext {
  /** Where the definition stands in what was sent: messages begin with it. */
  path?: string
  /** The definition is a built-in segment's, which may say what rules cannot. */
  isBuiltIn?: boolean
  /** It was accepted when it was saved. */
  isSaved?: boolean
}

/**
 * Reads a definition `{ source, rule }`, in which long integers may be raw JSON (exact.ts), into a tree of conditions.
 * Throws `bad_request` whose message begins with the failing path, as
 * `definition.rule.all[1].field: "totl_spend" is not a field of customer_profile. Did you mean …`.
 */
export function parseDefinition(
  json: unknown,
  { path = 'definition', isBuiltIn = false, isSaved = false }: DefinitionContext = {},
): Definition {
  const definition = readObject(json, path, ['source', 'rule'])
  const source = readSource(definition.get('source'), `${path}.source`)
  return readNode(definition.get('rule'), `${path}.rule`, source, 0, { conditions: 0, isBuiltIn, isSaved })
}

export interface Saved {
  definition: string
  created_by: string
}

const parsed = new WeakMap<Readonly<Saved>, Definition>()

/** Reads the definition of a saved segment, which is JSON text; once of each row, which a refresh asks three times. */
export function parseSaved(segment: Readonly<Saved>): Definition {
  const isBuiltIn = segment.created_by === BUILT_IN
  const tree =
    parsed.get(segment) ?? parseDefinition(parseStored(segment.definition), { isBuiltIn, isSaved: true })
  parsed.set(segment, tree)
  return tree
}

const GROUPS = ['all', 'any', 'not'] as const

/** Each level of groups is checked before the next is entered, so no depth of nesting exhausts the stack. */
function readNode(json: unknown, path: string, outer: SourceName, depth: number, walk: Walk): Tree {
  if (!isObject(json))
    throw refusal(path, `must be a group (all, any, not) or a condition, not ${shown(json)}`)
  const group = GROUPS.find((name) => Object.hasOwn(json, name))
  if (!group) {
    // Without an operator it may be meant as a group.
    if (!Object.hasOwn(json, 'op')) readObject(json, path, [...GROUPS, ...CONDITION_KEYS])
    return readCondition(json, path, outer, walk)
  }
  if (depth === LIMITS.depth) throw refusal(path, `groups may be nested ${LIMITS.depth} deep`)
  const node = readObject(json, path, ['source', group])
  const source = node.has('source') ? readSource(node.get('source'), `${path}.source`) : outer
  const below = `${path}.${group}`
  if (group === 'not') return { is: 'not', node: readNode(node.get('not'), below, source, depth + 1, walk) }
  const nodes = node.get(group)
  if (!Array.isArray(nodes) || nodes.length === 0)
    throw refusal(below, 'must be a list of at least one condition')
  return {
    is: group,
    nodes: nodes.map((each, index) => readNode(each, `${below}[${index}]`, source, depth + 1, walk)),
  }
}
