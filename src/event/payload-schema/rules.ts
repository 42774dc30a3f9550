import type { Rule } from './evaluate.ts'
import { ARRAY_RULES } from './rules/array.ts'
import { LOGIC_RULES } from './rules/logic.ts'
import { OBJECT_RULES } from './rules/object.ts'
import { VALUE_RULES } from './rules/value.ts'

/** What each keyword asks of a value; a keyword without a rule asks nothing. */
export const RULES: ReadonlyMap<string, Rule> = new Map(
  Object.entries({ ...VALUE_RULES, ...OBJECT_RULES, ...ARRAY_RULES, ...LOGIC_RULES }),
)
