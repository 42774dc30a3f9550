import { isObject } from './exact.ts'

/**
 * A path of RFC 9535 that names at most one value, read relative to `data`: its leading `$.` may be left out, as in
 * `customer.email` or `$.items[0]['e-mail']`.
 */
export type SingularPath = readonly (string | number)[]

export const MAX_PATH = 256
/** Data is nested no deeper. */
const MAX_SEGMENTS = 32

interface Segment {
  is: RegExp
  read(content: string): string | number
}

const SPACE = '[ \\t\\n\\r]*'
const HIGH = '\\u0080-\\ud7ff\\ue000-\\u{10ffff}'
const ESCAPED = '\\\\[bfnrt/\\\\]|\\\\u[0-9A-Fa-f]{4}'
const bracketed = (content: string) => new RegExp(`${SPACE}\\[${SPACE}${content}${SPACE}\\]`, 'uy')

const SEGMENTS: readonly Segment[] = [
  { is: new RegExp(`${SPACE}\\.([A-Za-z_${HIGH}][0-9A-Za-z_${HIGH}]*)`, 'uy'), read: (name) => name },
  { is: bracketed('(0|-?[1-9]\\d{0,8})'), read: Number },
  { is: bracketed(`"((?:[^"\\\\\\0-\\x1f]|\\\\"|${ESCAPED})*)"`), read: (name) => JSON.parse(`"${name}"`) },
  {
    is: bracketed(`'((?:[^'\\\\\\0-\\x1f]|\\\\'|${ESCAPED})*)'`),
    read: (name) => JSON.parse(`"${name.replace(/\\.|"/g, (part) => REQUOTED[part] ?? part)}"`),
  },
]
const REQUOTED: Record<string, string> = { "\\'": "'", '"': '\\"' }

/** The segments of a path, or what is wrong with it, in words that follow the name of its field. */
export function parsePath(text: string): SingularPath | { problem: string } {
  if (text.length > MAX_PATH) return { problem: `must be at most ${MAX_PATH} characters` }
  const path = text.startsWith('$') ? text : text.startsWith('[') ? `$${text}` : `$.${text}`
  const segments: (string | number)[] = []
  for (let at = 1; at < path.length; ) {
    const found = segmentAt(path, at)
    if (!found) return { problem: problemOf(text) }
    segments.push(found.segment)
    at = found.end
  }
  if (segments.length === 0) return { problem: 'must name a value inside data, such as customer.email' }
  if (segments.length > MAX_SEGMENTS) return { problem: `must have at most ${MAX_SEGMENTS} segments` }
  return segments
}

function segmentAt(path: string, at: number): { segment: string | number; end: number } | undefined {
  for (const { is, read } of SEGMENTS) {
    is.lastIndex = at
    const found = is.exec(path)
    if (!found) continue
    const segment = read(found[1] ?? '')
    if (typeof segment === 'string' && !segment.isWellFormed()) return undefined
    return { segment, end: is.lastIndex }
  }
  return undefined
}

const problemOf = (text: string) =>
  /[*?,:]|\.\./.test(text)
    ? 'must be a path to one value: without wildcards, filters, slices and descendants'
    : "must be a path such as customer.email, items[0].sku or $['e-mail']"

const kept = new Map<string, SingularPath>()
const MOST_KEPT = 1_000

/** The value that a path names; undefined where there is none. Throws for a text that `parsePath` refuses. */
export function valueAt(path: string, data: unknown): unknown {
  let value = data
  for (const segment of segmentsOf(path)) {
    if (typeof segment === 'number') value = Array.isArray(value) ? value.at(segment) : undefined
    else value = isObject(value) && Object.hasOwn(value, segment) ? value[segment] : undefined
  }
  return value
}

/** Data, or a copy of it without the value that a path names; in a list null stands in its place. */
export function withoutValueAt<Data>(path: string, data: Data): Data {
  return valueAt(path, data) === undefined ? data : (without(segmentsOf(path), data) as Data)
}

function without([segment, ...rest]: SingularPath, value: unknown): unknown {
  if (typeof segment === 'number') {
    const list = value as unknown[]
    const at = segment < 0 ? list.length + segment : segment
    return list.with(at, rest.length === 0 ? null : without(rest, list[at]))
  }
  const name = String(segment)
  const { [name]: inside, ...others } = value as Record<string, unknown>
  return rest.length === 0 ? others : { ...others, [name]: without(rest, inside) }
}

function segmentsOf(text: string): SingularPath {
  const known = kept.get(text)
  if (known) return known
  const segments = parsePath(text)
  if ('problem' in segments) throw new Error(`a path that was checked ${segments.problem}`)
  if (kept.size >= MOST_KEPT) kept.clear()
  kept.set(text, segments)
  return segments
}
