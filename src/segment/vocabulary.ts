import { refusal } from './complaint.ts'
import { LIMITS } from './operators.ts'
import type { Tree } from './tree.ts'
import { readEventType, readPastEvent } from './vocabulary-event.ts'
import {
  counted,
  type Meant,
  type Parameters,
  readOneOf,
  readSubConditions,
  readType,
  type Walk,
} from './vocabulary-node.ts'
import { readProperty } from './vocabulary-property.ts'
import { fitting, type Said } from './vocabulary-room.ts'
import { CONDITIONS, type ConditionName, type ConditionType, type ItemType } from './vocabulary-table.ts'

/** What a condition asks, over which profiles or events are counted and of which a segment can be made. */
export interface Asked {
  tree: Tree
  /** As a rule of a segment; throws `bad_request` at the condition that rules cannot say, or have no room for. */
  rule(said: Said): object
}

/**
 * Reads a condition of the customer-data host, as `{ type, parameterValues }`. Throws `bad_request` whose message begins
 * with the failing path, as `condition.parameterValues.propertyName: …`.
 */
export const readVocabulary = (json: unknown, item: ItemType, path = 'condition'): Asked =>
  readNode(json, path, 0, { item, conditions: 0 })

/** A definition that means the same as the condition, for profiles that can be members of segments. */
export const definitionOf = (json: unknown, path = 'condition'): { source: string; rule: object } => ({
  source: 'customer_profile',
  rule: readVocabulary(json, 'profile', path).rule({ conditions: 0 }),
})

function readNode(json: unknown, path: string, depth: number, walk: Walk): Asked {
  const { name, parameters } = readType(json, path)
  const type: ConditionType = CONDITIONS[name]
  if (!type.of.includes(walk.item))
    throw refusal(`${path}.type`, `${name} is for counts of ${type.of.join(', ')}, not of ${walk.item}`)
  const below = `${path}.parameterValues`
  if (name === 'booleanCondition' || name === 'notCondition') {
    if (depth === LIMITS.depth) throw refusal(path, `conditions may be nested ${LIMITS.depth} deep`)
    const inside = (each: unknown, at: string) => readNode(each, at, depth + 1, walk)
    return name === 'notCondition'
      ? readNot(parameters, below, inside)
      : readBoolean(parameters, below, inside)
  }
  counted(path, walk)
  const { negated, test, rule } = readLeaf(name, parameters, path, walk)
  return {
    tree: { is: 'condition', path, negated, test },
    rule: (said) => fitting(rule(), path, depth, said),
  }
}

type Inside = (json: unknown, path: string) => Asked

function readBoolean(parameters: Parameters, path: string, inside: Inside): Asked {
  const is = readOneOf(parameters, 'operator', path, ['and', 'or']) === 'and' ? 'all' : 'any'
  const parts = readSubConditions(parameters, path).map((each, index) =>
    inside(each, `${path}.subConditions[${index}]`),
  )
  return {
    tree: { is, nodes: parts.map(({ tree }) => tree) },
    rule: (said) => ({ [is]: parts.map(({ rule }) => rule(said)) }),
  }
}

function readNot(parameters: Parameters, path: string, inside: Inside): Asked {
  const { tree, rule } = inside(parameters.get('subCondition'), `${path}.subCondition`)
  return { tree: { is: 'not', node: tree }, rule: (said) => ({ not: rule(said) }) }
}

function readLeaf(
  name: Exclude<ConditionName, 'booleanCondition' | 'notCondition'>,
  parameters: Parameters,
  path: string,
  walk: Walk,
): Meant {
  switch (name) {
    case 'matchAllCondition':
      return EVERYTHING
    case 'profilePropertyCondition':
      return readProperty('profiles', parameters, `${path}.parameterValues`)
    case 'sessionPropertyCondition':
      return readProperty('sessions', parameters, `${path}.parameterValues`)
    case 'eventTypeCondition':
      return readEventType(parameters, `${path}.parameterValues`)
    case 'pastEventCondition':
      return readPastEvent(parameters, `${path}.parameterValues`, walk)
  }
}

const EVERYTHING: Meant = {
  negated: false,
  test: { of: 'everyone' },
  // Every customer has a count.
  rule: () => ({ source: 'customer_profile', field: 'orders_count', op: '>=', value: 0 }),
}
