import { isExact } from './exact.ts'

/** Levels of a body, the body itself being the first. */
export const MAX_DEPTH = 32
/** Values of one event, containers counted. */
export const MAX_NODES = 5_000
/** Problems of a request that are told beside the first one of each event. */
export const MAX_PROBLEMS = 100

/** Notes a problem. It must not throw: a walk would leave what it had not seen yet to the next one. */
export type Report = (path: string, message: string) => void

const FORBIDDEN_KEYS = new Set(['__proto__', 'constructor', 'prototype'])

// One walk at a time: containers that wait, each with its level, its key, and which container it is in.
const containers: object[] = []
const levels: number[] = []
const parents: number[] = []
const keys: (string | number)[] = []

/**
 * Checks every value inside `root` without recursion and reports what a lake row cannot hold, as often as anyone is told.
 * `escaped`: strings may hold NUL or lone surrogates. `but`: names of the root that are left out. True when an integer
 * beyond 2^53 was seen.
 */
export function walk(
  root: object,
  path: string,
  level: number,
  escaped: boolean,
  report: Report,
  but: readonly string[] = [],
): boolean {
  let inexact = false
  let nodes = 1
  let problems = 0
  containers.push(root)
  levels.push(level)
  parents.push(-1)
  keys.push('')

  const note = (at: number, key: string | number | undefined, message: string) => {
    if (problems++ < MAX_PROBLEMS) report(pathOf(path, at, key), message)
  }
  const visit = (value: unknown, at: number, key: string | number) => {
    nodes++
    if (typeof value === 'string') {
      if (escaped) checkText(value, (message) => note(at, key, message))
    } else if (typeof value === 'number') {
      if (!Number.isFinite(value)) note(at, key, 'is a number out of range')
      else if (!isExact(value)) inexact = true
    } else if (typeof value === 'object' && value !== null) {
      const inside = (levels[at] ?? 0) + 1
      if (inside > MAX_DEPTH) {
        note(at, key, `is nested too deep: a body has at most ${MAX_DEPTH} levels`)
        return
      }
      containers.push(value)
      levels.push(inside)
      parents.push(at)
      keys.push(key)
    }
  }

  for (let at = 0; at < containers.length && nodes <= MAX_NODES; at++) {
    const container = containers[at] as Record<string, unknown>
    if (Array.isArray(container)) {
      for (let index = 0; index < container.length && nodes <= MAX_NODES; index++)
        visit(container[index], at, index)
      continue
    }
    for (const key in container) {
      if (at === 0 && but.includes(key)) continue
      if (FORBIDDEN_KEYS.has(key)) note(at, key, 'has a name that is not allowed')
      else if (escaped) checkText(key, (message) => note(at, undefined, `has a name that ${message}`))
      visit(container[key], at, key)
      if (nodes > MAX_NODES) break
    }
  }
  if (nodes > MAX_NODES) report(path, `has more than ${MAX_NODES} values`)
  containers.length = levels.length = parents.length = keys.length = 0
  return inexact
}

function checkText(text: string, report: (message: string) => void): void {
  if (text.includes('\0')) report('holds the character U+0000')
  if (!text.isWellFormed()) report('holds half of a surrogate pair')
}

/** `events[3].properties.items[0].price`: the way from the root to a key of the container `at`. */
function pathOf(root: string, at: number, key?: string | number): string {
  const steps: (string | number)[] = key === undefined ? [] : [key]
  for (let up = at; up > 0; up = parents[up] ?? -1) steps.push(keys[up] ?? '')
  return root + steps.reverse().map(step).join('')
}

/** One step of a path: `.price`, `[0]`, or `["a name"]`. */
export const step = (key: string | number) =>
  typeof key === 'number' ? `[${key}]` : /^[\w$]{1,80}$/.test(key) ? `.${key}` : `[${shown(key)}]`

/** A sent name in a message: bounded and harmless to print. */
export const shown = (name: string) =>
  JSON.stringify((name.length > 80 ? `${name.slice(0, 80)}…` : name).toWellFormed())
