import { missing, refusal, shown, unknownName } from './complaint.ts'
import { LIMITS } from './operators.ts'
import type { Test } from './tree.ts'
import { readObject } from './value.ts'
import { CONDITIONS, type ConditionName, type ConditionType, type ItemType } from './vocabulary-table.ts'
import { refuseTenancy } from './vocabulary-tenancy.ts'

/** What one condition means, and how a rule says it. */
export interface Meant {
  negated: boolean
  test: Test
  /** The condition of a rule that means the same; throws `bad_request` where rules cannot say it. */
  rule(): object
}

export interface Walk {
  item: ItemType
  conditions: number
}

export type Parameters = Map<string, unknown>

/** Also for the conditions inside `pastEventCondition`. */
export function counted(path: string, walk: Walk): void {
  walk.conditions++
  if (walk.conditions > LIMITS.conditions)
    throw refusal(path, `there may be ${LIMITS.conditions} conditions in all`)
}

export function readType(json: unknown, path: string): { name: ConditionName; parameters: Parameters } {
  refuseTenancy(json, path)
  const condition = readObject(json, path, ['type', 'parameterValues'])
  const name = condition.get('type')
  if (typeof name !== 'string' || !Object.hasOwn(CONDITIONS, name))
    throw unknownName(`${path}.type`, name, 'a condition type', Object.keys(CONDITIONS))
  const given = condition.get('parameterValues') ?? {}
  const below = `${path}.parameterValues`
  refuseTenancy(given, below)
  const { parameters: known }: ConditionType = CONDITIONS[name as ConditionName]
  if (Object.keys(known).length === 0 && Object.keys(given).length > 0)
    throw refusal(below, `must be empty: ${name} takes no parameters`)
  const parameters = readObject(given, below, Object.keys(known))
  for (const [parameter, row] of Object.entries(known))
    if (row.required && !parameters.has(parameter))
      throw missing(`${below}.${parameter}`, row.known ?? row.oneOf)
  return { name: name as ConditionName, parameters }
}

export function readOneOf(
  parameters: Parameters,
  name: string,
  path: string,
  known: readonly string[],
): string {
  const given = parameters.get(name) ?? known[0]
  if (typeof given === 'string' && known.includes(given)) return given
  throw unknownName(`${path}.${name}`, given, 'an operator here', known)
}

export function readSubConditions(parameters: Parameters, path: string): unknown[] {
  const list = parameters.get('subConditions')
  if (!Array.isArray(list) || list.length === 0)
    throw refusal(`${path}.subConditions`, `must be a list of at least one condition, not ${shown(list)}`)
  return list
}
