import type { At, Problem, Rule } from '../evaluate.ts'
import type { Schema } from '../vocabulary.ts'

const holds = (at: At, schema: Schema): boolean =>
  at.check.run(schema, at.value, at.path, at.check.unseen()) === null

export const LOGIC_RULES: Record<string, Rule> = {
  $ref: (at, reference) => at.here(at.check.target(reference)),
  // One schema has one dynamic scope: nothing can be overridden in it.
  $dynamicRef: (at, reference) => at.here(at.check.target(reference)),

  allOf(at, schemas) {
    for (const schema of schemas as Schema[]) {
      const problem = at.here(schema)
      if (problem) return problem
    }
    return null
  },

  anyOf(at, schemas) {
    let first: Problem | null = null
    let isSatisfied = false
    at.check.spend((schemas as Schema[]).length)
    for (const schema of schemas as Schema[]) {
      const problem = at.here(schema)
      if (problem) first ??= problem
      else isSatisfied = true
      // What the others see counts too where that is asked for.
      if (isSatisfied && !at.check.tracks) return null
    }
    if (isSatisfied) return null
    return (schemas as Schema[]).length === 1
      ? first
      : at.problem(() => 'must satisfy at least one of the alternatives')
  },

  oneOf(at, schemas) {
    let satisfied = 0
    at.check.spend((schemas as Schema[]).length)
    let first: Problem | null = null
    for (const schema of schemas as Schema[]) {
      const problem = at.here(schema)
      if (problem) first ??= problem
      else satisfied++
    }
    if (satisfied === 1) return null
    if (satisfied === 0 && (schemas as Schema[]).length === 1) return first
    return at.problem(() => `must satisfy exactly one of the alternatives, not ${satisfied || 'none'}`)
  },

  not: (at, schema) =>
    holds(at, schema as Schema) ? at.problem(() => 'must not be what the schema excludes') : null,

  if(at, schema) {
    const branch = at.here(schema as Schema) === null ? 'then' : 'else'
    const chosen = at.beside(branch)
    return chosen === undefined ? null : at.here(chosen as Schema)
  },
}
