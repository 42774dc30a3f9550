import { type Dialect, isObject, type Schema, subschemas, VOCABULARY } from './vocabulary.ts'

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

/** The pointer that a reference says, where it is one to this very schema; null for any other. */
export function pointerOf(
  root: Schema,
  reference: string,
  anchors: ReadonlyMap<string, string>,
): string | null {
  const own = isObject(root) && typeof root.$id === 'string' ? root.$id.replace(/#$/, '') : ''
  const local = own !== '' && reference.startsWith(own) ? reference.slice(own.length) : reference
  if (local === '') return ''
  if (!local.startsWith('#')) return null
  try {
    const fragment = decodeURIComponent(local.slice(1))
    return fragment === '' || fragment.startsWith('/') ? fragment : (anchors.get(fragment) ?? null)
  } catch {
    return null
  }
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

/** All schemas within a checked one, itself the first. */
export function placesOf(root: Schema): Map<string, Schema> {
  const places = new Map<string, Schema>([['', root]])
  for (const [pointer, schema] of places)
    for (const within of inside(schema, pointer)) places.set(within.pointer, within.schema as Schema)
  return places
}
