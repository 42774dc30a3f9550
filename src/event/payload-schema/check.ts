import { isObject } from '../exact.ts'
import { shown, step } from '../walk.ts'
import { MAX_SIZES } from './pattern.ts'
import { anchorsOf, DRAFT_07, DRAFT_2020, dialectOf, inside, pointerOf } from './reference.ts'
import { translate } from './translate.ts'
import { type Dialect, type Schema, VOCABULARY } from './vocabulary.ts'

/** What is wrong with a schema, and where: a path behind the name of its field. */
export interface Flaw {
  path: string
  message: string
}

class Flawed extends Error {
  readonly flaw: Flaw
  constructor(path: string, message: string) {
    super(message)
    this.flaw = { path, message }
  }
}

/** The first flaw of a schema that is within the limits; null when it can be used. */
export function flawOf(root: Record<string, unknown>): Flaw | null {
  try {
    const { $schema } = root
    if (
      $schema !== undefined &&
      !(typeof $schema === 'string' && (DRAFT_07.test($schema) || DRAFT_2020.test($schema)))
    )
      throw new Flawed(
        '.$schema',
        'must be https://json-schema.org/draft/2020-12/schema or http://json-schema.org/draft-07/schema#',
      )
    const dialect = dialectOf(root)
    checkReferences(root, dialect, checkedPlaces(root, dialect))
    return null
  } catch (error) {
    if (error instanceof Flawed) return error.flaw
    throw error
  }
}

/** `.properties.email` for `/properties/email`. */
const pathOf = (pointer: string) =>
  pointer
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
    .map((part) => step(/^\d+$/.test(part) ? Number(part) : part))
    .join('')

/** Characters of the pointers to all schemas within: long names around many schemas would make megabytes. */
const MAX_POINTERS = 2_000_000

function checkedPlaces(root: Schema, dialect: Dialect): Map<string, Schema> {
  const places = new Map<string, Schema>([['', root]])
  let sizes = 0
  let pointers = 0
  for (const [pointer, schema] of places) {
    sizes += patternSizes(schema)
    if (sizes > MAX_SIZES)
      throw new Flawed(pathOf(pointer), 'has more or larger patterns than one schema may have')
    checkKeywords(pointer, schema, dialect)
    for (const within of inside(schema, pointer)) {
      pointers += within.pointer.length
      if (pointers > MAX_POINTERS) throw new Flawed(pathOf(within.pointer), 'is within too many long names')
      if (typeof within.schema !== 'boolean' && !isObject(within.schema))
        throw new Flawed(pathOf(within.pointer), 'must be a schema: an object, true or false')
      places.set(within.pointer, within.schema)
    }
  }
  return places
}

function checkKeywords(pointer: string, schema: Schema, dialect: Dialect): void {
  if (typeof schema === 'boolean') return
  for (const [keyword, value] of Object.entries(schema)) {
    const refuse = (message: string) => new Flawed(pathOf(pointer) + step(keyword), message)
    const rule = VOCABULARY.get(keyword)
    // As the standard has it, a keyword that it does not know is an annotation.
    if (!rule) continue
    if (rule.only && rule.only !== dialect)
      throw refuse(`is not a keyword of ${dialect}${rule.instead ? `: use ${rule.instead}` : ''}`)
    const problem = rule.problem?.(value)
    if (problem) throw refuse(problem)
    if (keyword === 'items' && Array.isArray(value) && dialect === '2020-12')
      throw refuse('must be one schema: for a list of schemas use prefixItems')
    if (pointer !== '' && (keyword === '$id' || keyword === '$schema'))
      throw refuse('can only be at the root of the schema')
  }
}

/** About how much its patterns would be, counted before anything is built of them. */
function patternSizes(schema: Schema): number {
  if (typeof schema === 'boolean') return 0
  const { pattern, patternProperties } = schema
  const texts = [pattern, ...Object.keys(isObject(patternProperties) ? patternProperties : {})]
  return texts.reduce((sum: number, text) => {
    const translated = typeof text === 'string' ? translate(text) : undefined
    return sum + (translated && 'size' in translated ? translated.size : 0)
  }, 0)
}

function checkReferences(root: Schema, dialect: Dialect, places: ReadonlyMap<string, Schema>): void {
  const anchors = anchorsOf(places)
  const leads = new Map<string, string[]>()
  for (const [pointer, schema] of places) {
    const here = [...inside(schema, pointer, true)].map((within) => within.pointer)
    const targets = referencesIn(schema).map(([keyword, reference]) => {
      const target = pointerOf(root, reference, anchors)
      if (target === null || !places.has(target))
        throw new Flawed(pathOf(pointer) + step(keyword), refers(reference))
      return target
    })
    leads.set(pointer, dialect === 'draft-07' && targets.length > 0 ? targets : [...here, ...targets])
  }
  const circle = circleIn(leads)
  if (circle !== null)
    throw new Flawed(pathOf(circle), 'refers to itself for one and the same value, which would never end')
}

function referencesIn(schema: Schema): [string, string][] {
  if (typeof schema === 'boolean') return []
  return ['$ref', '$dynamicRef'].flatMap((keyword): [string, string][] => {
    const reference = schema[keyword]
    return typeof reference === 'string' ? [[keyword, reference]] : []
  })
}

const refers = (reference: string) =>
  reference.startsWith('#')
    ? `refers to ${shown(reference)}, which is no schema in this one`
    : 'must refer to a place in this schema, such as #/$defs/address: nothing is fetched'

/** A place that leads back to itself. */
function circleIn(leads: ReadonlyMap<string, readonly string[]>): string | null {
  const done = new Set<string>()
  const under = new Set<string>()
  const visit = (pointer: string): string | null => {
    if (done.has(pointer)) return null
    if (under.has(pointer)) return pointer
    under.add(pointer)
    for (const next of leads.get(pointer) ?? []) {
      const circle = visit(next)
      if (circle !== null) return circle
    }
    under.delete(pointer)
    done.add(pointer)
    return null
  }
  for (const pointer of leads.keys()) {
    const circle = visit(pointer)
    if (circle !== null) return circle
  }
  return null
}
