import type { At, Problem, Rule } from '../evaluate.ts'
import type { Schema } from '../vocabulary.ts'
import { canonical } from './equal.ts'

/** A rule for lists only. */
const ofLists =
  <Argument>(rule: (at: At, value: unknown[], argument: Argument) => Problem | null): Rule =>
  (at, argument) =>
    Array.isArray(at.value) ? rule(at, at.value, argument as Argument) : null

function each(at: At, from: number, to: number, schema: (index: number) => Schema): Problem | null {
  for (let index = from; index < to; index++) {
    const problem = at.inside(schema(index), index)
    if (problem) return problem
  }
  return null
}

const lengthOf = (list: unknown) => (Array.isArray(list) ? list.length : 0)

export const ARRAY_RULES: Record<string, Rule> = {
  maxItems: ofLists<number>((at, value, most) =>
    value.length > most ? at.problem(() => `must have at most ${most} items`) : null,
  ),
  minItems: ofLists<number>((at, value, least) =>
    value.length < least ? at.problem(() => `must have at least ${least} items`) : null,
  ),
  uniqueItems: ofLists<boolean>((at, value, isAsked) => {
    if (!isAsked) return null
    const texts = new Set(value.map((item) => canonical(item, at.check)))
    return texts.size < value.length ? at.problem(() => 'must not have an item twice') : null
  }),
  prefixItems: ofLists<Schema[]>((at, value, schemas) =>
    each(at, 0, Math.min(value.length, schemas.length), (index) => schemas[index] as Schema),
  ),
  items: ofLists<Schema | Schema[]>((at, value, items) =>
    Array.isArray(items)
      ? each(at, 0, Math.min(value.length, items.length), (index) => items[index] as Schema)
      : each(at, lengthOf(at.beside('prefixItems')), value.length, () => items),
  ),
  additionalItems: ofLists<Schema>((at, value, schema) => {
    const items = at.beside('items')
    return Array.isArray(items) ? each(at, items.length, value.length, () => schema) : null
  }),
  contains: ofLists<Schema>((at, value, schema) => {
    const least = at.check.dialect === 'draft-07' ? 1 : ((at.beside('minContains') ?? 1) as number)
    const most = (at.beside('maxContains') ?? Number.POSITIVE_INFINITY) as number
    let found = 0
    at.check.spend(value.length)
    for (const [index, item] of value.entries()) {
      if (at.check.run(schema, item, at.path, at.check.unseen()) !== null) continue
      found++
      if (at.check.tracks) at.seen.indexes.add(index)
    }
    if (found < least) return at.problem(() => `must contain at least ${least} of what the schema says`)
    return found > most ? at.problem(() => `must contain at most ${most} of what the schema says`) : null
  }),
  unevaluatedItems: ofLists<Schema>((at, value, schema) => {
    at.check.spend(value.length)
    for (const index of value.keys()) {
      const problem = at.seen.indexes.has(index) ? null : at.inside(schema, index)
      if (problem) return problem
    }
    return null
  }),
}
