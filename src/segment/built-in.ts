import type { RowsName } from './catalog.ts'
import { atLeast, column, type Expr, equal, oneOf, value } from './expression.ts'

/** Who made a segment that comes with every brand. */
export const BUILT_IN = 'built_in'

/** The field by which the definitions of built-in segments say what rules cannot. */
export const BUILT_IN_FIELD = 'built_in'

export interface BuiltIn {
  /** What `built_in` is compared with. */
  name: string
  /** A row of the customer's in a mart; absent: all profiles, those too whom no rule covers. */
  scored?: { source: RowsName; holds: Expr }
  help: string
}

const text = (words: readonly string[]) => words.map((word) => value('text', word))

/** The built-in segments whose members no rule can name. The others have definitions that anyone may write. */
const BUILT_INS: readonly BuiltIn[] = [
  { name: 'visitors', help: 'all profiles' },
  {
    name: 'high_value',
    scored: { source: 'rfm', holds: oneOf(column('tier'), text(['Champions', 'Loyal Customers'])) },
    help: 'customers of the top RFM tiers',
  },
  {
    name: 'at_risk',
    scored: { source: 'churn', holds: equal(column('at_risk'), value('boolean', 'true')) },
    help: 'customers who are at risk',
  },
  {
    name: 'churned',
    scored: { source: 'churn', holds: atLeast(column('at_risk_score'), value('money', '4')) },
    help: 'customers whose at-risk score is 4 or more',
  },
]

/** Marts of everyone that segments read: a score follows from the customers of the whole brand. */
export const SCORES: readonly string[] = [...new Set(BUILT_INS.flatMap(({ scored }) => scored?.source ?? []))]

export const BUILT_IN_NAMES: readonly string[] = BUILT_INS.map(({ name }) => name)

export function builtIn(name: string): BuiltIn {
  const found = BUILT_INS.find((each) => each.name === name)
  if (!found) throw new Error(`there is no built-in segment ${name}`)
  return found
}
