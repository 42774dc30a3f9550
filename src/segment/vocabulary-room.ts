import { refusal } from './complaint.ts'
import { LIMITS } from './operators.ts'

/** How much of the room of a rule is taken. */
export interface Said {
  conditions: number
}

/** A condition's part of a rule, as deep as the condition stands; refused at its path when the rule has no room for it. */
export function fitting(rule: object, path: string, depth: number, said: Said): object {
  const { conditions, levels } = sizeOf(rule)
  said.conditions += conditions
  if (said.conditions > LIMITS.conditions)
    throw refusal(
      path,
      `a segment may have ${LIMITS.conditions} conditions in all, of which this one takes ${conditions}`,
    )
  if (depth + levels > LIMITS.depth)
    throw refusal(
      path,
      `conditions of a segment may be nested ${LIMITS.depth} deep, and this one takes ${levels} more`,
    )
  return rule
}

/** A condition, perhaps turned by `not`, with those of its `where`. */
function sizeOf(rule: { not?: object; where?: unknown[] }): { conditions: number; levels: number } {
  if (!rule.not) return { conditions: 1 + (rule.where?.length ?? 0), levels: 0 }
  const { conditions, levels } = sizeOf(rule.not)
  return { conditions, levels: levels + 1 }
}
