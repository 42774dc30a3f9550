import { isObject } from '../../exact.ts'
import type { At, Problem, Rule } from '../evaluate.ts'
import type { Schema } from '../vocabulary.ts'
import { matches } from './value.ts'

/** A rule for objects only. */
const ofObjects =
  <Argument>(rule: (at: At, value: Record<string, unknown>, argument: Argument) => Problem | null): Rule =>
  (at, argument) =>
    isObject(at.value) ? rule(at, at.value, argument as Argument) : null

type Named = Record<string, Schema>

const missing = (at: At, name: string): Problem => ({
  path: { up: at.path, key: name },
  message: () => 'is required',
})

function firstOf<Item>(items: Iterable<Item>, problem: (item: Item) => Problem | null): Problem | null {
  for (const item of items) {
    const found = problem(item)
    if (found) return found
  }
  return null
}

/** The names for which neither `properties` nor `patternProperties` beside has a schema. */
function* additionalNames(at: At, value: object): Generator<string> {
  const known = at.beside('properties')
  const patterns = at.check.namesOf(at.beside('patternProperties') ?? {})
  for (const name of at.check.namesOf(value)) {
    at.check.spend(1)
    if (known !== undefined && Object.hasOwn(known as object, name)) continue
    if (!patterns.some((pattern) => matches(at.check, pattern, name))) yield name
  }
}

const required = (at: At, value: object, names: readonly string[]) =>
  firstOf(names, (name) => {
    at.check.spend(1)
    at.check.spendText(name)
    return Object.hasOwn(value, name) ? null : missing(at, name)
  })

export const OBJECT_RULES: Record<string, Rule> = {
  required: ofObjects<string[]>(required),
  maxProperties: ofObjects<number>((at, value, most) =>
    at.check.namesOf(value).length > most ? at.problem(() => `must have at most ${most} properties`) : null,
  ),
  minProperties: ofObjects<number>((at, value, least) =>
    at.check.namesOf(value).length < least
      ? at.problem(() => `must have at least ${least} properties`)
      : null,
  ),
  properties: ofObjects<Named>((at, value, named) =>
    firstOf(at.check.namesOf(named), (name) =>
      Object.hasOwn(value, name) ? at.inside(named[name] as Schema, name) : null,
    ),
  ),
  patternProperties: ofObjects<Named>((at, value, named) =>
    firstOf(at.check.namesOf(named), (pattern) =>
      firstOf(at.check.namesOf(value), (name) =>
        matches(at.check, pattern, name) ? at.inside(named[pattern] as Schema, name) : null,
      ),
    ),
  ),
  additionalProperties: ofObjects<Schema>((at, value, schema) =>
    firstOf(additionalNames(at, value), (name) => at.inside(schema, name)),
  ),
  propertyNames: ofObjects<Schema>((at, value, schema) =>
    firstOf(at.check.namesOf(value), (name) =>
      at.check.run(schema, name, { up: at.path, key: name }, at.seen) === null
        ? null
        : { path: { up: at.path, key: name }, message: () => 'has a name that the schema does not allow' },
    ),
  ),
  dependentRequired: ofObjects<Record<string, string[]>>((at, value, named) =>
    firstOf(at.check.namesOf(named), (name) =>
      Object.hasOwn(value, name) ? required(at, value, named[name] as string[]) : null,
    ),
  ),
  dependentSchemas: ofObjects<Named>((at, value, named) =>
    firstOf(at.check.namesOf(named), (name) =>
      Object.hasOwn(value, name) ? at.here(named[name] as Schema) : null,
    ),
  ),
  dependencies: ofObjects<Record<string, Schema | string[]>>((at, value, named) =>
    firstOf(at.check.namesOf(named), (name) => {
      const needs = named[name]
      if (!Object.hasOwn(value, name)) return null
      return Array.isArray(needs) ? required(at, value, needs) : at.here(needs as Schema)
    }),
  ),
  unevaluatedProperties: ofObjects<Schema>((at, value, schema) =>
    firstOf(at.check.namesOf(value), (name) => (at.seen.names.has(name) ? null : at.inside(schema, name))),
  ),
}
