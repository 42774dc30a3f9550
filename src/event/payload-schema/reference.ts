import { isObject } from '../exact.ts'
import { type Dialect, type Schema, subschemas, VOCABULARY } from './vocabulary.ts'

export const DRAFT_07 = /^https?:\/\/json-schema\.org\/draft-07\/schema#?$/
export const DRAFT_2020 = /^https:\/\/json-schema\.org\/draft\/2020-12\/schema#?$/

export const dialectOf = (root: Schema): Dialect =>
  isObject(root) && typeof root.$schema === 'string' && DRAFT_07.test(root.$schema) ? 'draft-07' : '2020-12'

/** A schema within a schema by its JSON pointer, the root's being empty. */
export interface Within {
  pointer: string
  schema: unknown
}

const escaped = (step: string | number) => String(step).replaceAll('~', '~0').replaceAll('/', '~1')

/** The schemas in the keywords of one schema; `inPlace`: only those that see the same value. */
export function* inside(schema: Schema, pointer: string, inPlace = false): Generator<Within> {
  if (typeof schema === 'boolean') return
  for (const [keyword, value] of Object.entries(schema)) {
    const rule = VOCABULARY.get(keyword)
    if (inPlace && !rule?.inPlace) continue
    for (const { schema: inner, steps } of subschemas(rule?.holds, value))
      yield { pointer: [pointer, keyword, ...steps.map(escaped)].join('/'), schema: inner }
  }
}

/** What a reference to this very schema says of the place: a pointer or a name; null for any other reference. */
function fragmentOf(root: Schema, reference: string): string | null {
  const id = isObject(root) && typeof root.$id === 'string' ? root.$id : ''
  const own = id.endsWith('#') ? id.slice(0, -1) : id
  const local = own !== '' && reference.startsWith(own) ? reference.slice(own.length) : reference
  if (local === '') return ''
  if (!local.startsWith('#')) return null
  try {
    return decodeURIComponent(local.slice(1))
  } catch {
    return null
  }
}

const isPointer = (fragment: string) => fragment === '' || fragment.startsWith('/')

/** The pointer that a reference says, where it is one to this very schema; null for any other. */
export function pointerOf(
  root: Schema,
  reference: string,
  anchors: ReadonlyMap<string, string>,
): string | null {
  const fragment = fragmentOf(root, reference)
  return fragment === null || isPointer(fragment) ? fragment : (anchors.get(fragment) ?? null)
}

/** The names that schemas within have, with their pointers. */
export function anchorsOf(places: Iterable<[pointer: string, schema: Schema]>): Map<string, string> {
  const anchors = new Map<string, string>()
  for (const [pointer, schema] of places) {
    if (!isObject(schema)) continue
    for (const name of [schema.$anchor, schema.$dynamicAnchor])
      if (typeof name === 'string') anchors.set(name, pointer)
  }
  return anchors
}

/** Where the references of a checked schema lead: step by step, since pointers to all places can be many times its size. */
export class Targets {
  readonly #root: Schema
  readonly #found = new Map<string, Schema>()
  #named: Map<string, Schema> | undefined

  constructor(root: Schema) {
    this.#root = root
  }

  of(reference: string): Schema {
    const known = this.#found.get(reference)
    if (known !== undefined) return known
    const fragment = fragmentOf(this.#root, reference)
    const schema = fragment === null ? undefined : this.#at(fragment)
    if (schema === undefined) throw new Error('a checked payload schema has a reference that leads nowhere')
    this.#found.set(reference, schema)
    return schema
  }

  #at(fragment: string): Schema | undefined {
    if (!isPointer(fragment)) {
      this.#named ??= namedWithin(this.#root)
      return this.#named.get(fragment)
    }
    let at: unknown = this.#root
    for (const step of fragment.split('/').slice(1)) {
      const key = step.replaceAll('~1', '/').replaceAll('~0', '~')
      if (typeof at !== 'object' || at === null || !Object.hasOwn(at, key)) return undefined
      at = (at as Record<string, unknown>)[key]
    }
    return at as Schema
  }
}

function namedWithin(root: Schema): Map<string, Schema> {
  const named = new Map<string, Schema>()
  const schemas = [root]
  for (const schema of schemas) {
    if (!isObject(schema)) continue
    for (const name of [schema.$anchor, schema.$dynamicAnchor])
      if (typeof name === 'string') named.set(name, schema)
    for (const [keyword, value] of Object.entries(schema))
      for (const inner of subschemas(VOCABULARY.get(keyword)?.holds, value))
        schemas.push(inner.schema as Schema)
  }
  return named
}
