import { isObject } from '../event/exact.ts'
import { BUILT_IN_FIELD, builtIn } from './built-in.ts'
import { SOURCES, type SourceName } from './catalog.ts'
import { member } from './complaint.ts'
import { COUNT, MEMBER } from './name.ts'
import { LIMITS } from './operators.ts'

/** A condition as a person reads it. */
export interface InWords {
  /** With `not` before it where groups turn it round. */
  words: string
  /** So it speaks for membership where it does not hold. */
  turned: boolean
}

type Node = Record<string, unknown>

/** The conditions of a valid definition by their paths, as `count(product_events in 7 days) >= 2`. */
export function conditionsInWords(definition: Node): Map<string, InWords> {
  const found = new Map<string, InWords>()
  const visit = (node: Node, path: string, outer: string, turned: boolean): void => {
    const source = 'source' in node ? String(node.source) : outer
    for (const group of ['all', 'any'] as const)
      if (group in node) {
        for (const [at, one] of (node[group] as Node[]).entries())
          visit(one, `${member(path, group)}[${at}]`, source, turned)
        return
      }
    if ('not' in node) visit(node.not as Node, member(path, 'not'), source, !turned)
    else {
      const words = wordsOf(node, source)
      found.set(path, { words: turned ? `not ${words}` : words, turned })
    }
  }
  visit(definition.rule as Node, 'definition.rule', String(definition.source), false)
  return found
}

function wordsOf(node: Node, source: string): string {
  if (node.op === MEMBER) return `member of segment ${node.segmentId}`
  if (node.op === COUNT) {
    const { op, n } = (node.times ?? { op: '>=', n: 1 }) as Node
    return `count(${rowsOf(node, source)}) ${op} ${n}`
  }
  if (node.field === BUILT_IN_FIELD) return builtIn(String(node.value)).help
  const field = 'field' in node ? `${source}.${node.field}` : source
  if ('agg' in node) return `${node.agg}(${rowsOf(node, field)}) ${tested(node)}`
  const isLookedBack = SOURCES[source as SourceName]?.rows === 'many'
  return `${field} ${tested(node)}${isLookedBack ? ` in ${LIMITS.maxDays} days` : ''}`
}

function rowsOf({ window, where = [] }: Node, what: string): string {
  const { days = LIMITS.maxDays } = (window ?? {}) as { days?: unknown }
  const tests = (where as Node[]).map((one) => `${one.field} ${tested(one)}`)
  return `${what} in ${days} days${tests.length ? ` where ${tests.join(' and ')}` : ''}`
}

function tested({ op, value }: Node): string {
  if (value === undefined) return String(op)
  if (Array.isArray(value)) return `${op} ${listed(value)}`
  return isObject(value) ? `${op} ${value.days} days` : `${op} ${textOf(value)}`
}

const SHOWN = 5
const listed = (values: unknown[]): string =>
  values.slice(0, SHOWN).map(textOf).join(', ') +
  (values.length > SHOWN ? `, … (${values.length} values)` : '')

const textOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value))
