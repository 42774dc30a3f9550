import type { Reader } from '../op.ts'
import type { Definition } from './definition.ts'
import { compileOne } from './plan.ts'
import type { Condition } from './tree.ts'

/** One condition of a definition, as it is for one customer. */
export interface Explained {
  /** Where it stands, such as `definition.rule.all[1]`. */
  path: string
  holds: boolean
  /** Whether membership would change if this condition alone were the other way round. */
  decides: boolean
}

export interface Explanation {
  member: boolean
  conditions: Explained[]
}

/** Why a customer (by public id) is a member or not: every condition, evaluated on its own by the same compiler. */
export async function explain(
  sources: Reader,
  definition: Definition,
  customerId: string,
): Promise<Explanation> {
  const truths = new Map<Condition, boolean>()
  for (const condition of conditionsOf(definition)) {
    const { text, values } = compileOne(condition)
    const [row] = await sources.rows<{ holds: boolean }>(
      `select count(*) > 0 as holds from (${text}) as matching
       where customer = (select customer from customers where customer_id = $${values.length + 1})`,
      [...values, customerId],
    )
    truths.set(condition, row?.holds ?? false)
  }
  const holds = (node: Definition, flipped?: Condition): boolean => {
    switch (node.is) {
      case 'all':
        return node.nodes.every((one) => holds(one, flipped))
      case 'any':
        return node.nodes.some((one) => holds(one, flipped))
      case 'not':
        return !holds(node.node, flipped)
      case 'condition':
        return (truths.get(node) ?? false) !== (node === flipped)
    }
  }
  const member = holds(definition)
  const conditions = [...truths].map(([condition, truth]) => ({
    path: condition.path,
    holds: truth,
    decides: holds(definition, condition) !== member,
  }))
  return { member, conditions }
}

function conditionsOf(node: Definition): Condition[] {
  switch (node.is) {
    case 'all':
    case 'any':
      return node.nodes.flatMap(conditionsOf)
    case 'not':
      return conditionsOf(node.node)
    case 'condition':
      return [node]
  }
}
