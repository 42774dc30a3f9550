import { isUtf8 } from 'node:buffer'
import { fail } from '../errors.ts'
import { step } from '../event/walk.ts'
import { MAX_DEPTH, sizeProblem } from './json-size.ts'

const FORBIDDEN = ['__proto__', 'constructor', 'prototype']

/** Parses a REST body, which is a JSON object, and refuses values that no column or file could hold. */
export function parseJson(bytes: Buffer): Record<string, unknown> {
  if (!isUtf8(bytes)) throw fail('bad_request', 'The body is not valid UTF-8')
  const problem = sizeProblem(bytes)
  if (problem) throw fail('bad_request', problem)
  let value: unknown
  try {
    value = JSON.parse(bytes.toString())
  } catch (error) {
    throw fail('bad_request', `The body is not valid JSON: ${(error as SyntaxError).message}`)
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw fail('bad_request', 'The body must be a JSON object')
  }
  checkValues(value)
  return value as Record<string, unknown>
}

/**
 * Refuses names, texts, numbers and depths that no column or file could hold, with the path to the first one.
 * Without recursion: a body of 1 MB can be nested half a million deep.
 */
export function checkValues(root: object): void {
  const waiting: { value: object; path: string; depth: number }[] = [{ value: root, path: '', depth: 1 }]
  for (let next = waiting.pop(); next; next = waiting.pop()) {
    const { path, depth } = next
    const at = (key: string | number) => `${path}${step(key)}`.replace(/^\./, '')
    const check = (key: string | number, value: unknown) => {
      const problem = typeof value === 'string' ? textProblem(value) : undefined
      if (problem) throw fail('bad_request', `${at(key)} ${problem}`)
      if (typeof value === 'number' && !Number.isFinite(value)) {
        throw fail('bad_request', `${at(key)} must be a number that a double can hold`)
      }
      if (typeof value !== 'object' || value === null) return
      if (depth === MAX_DEPTH) throw fail('bad_request', `The body must be at most ${MAX_DEPTH} levels deep`)
      waiting.push({ value, path: at(key), depth: depth + 1 })
    }
    // By index, not by name: half a million names of a list in 1 MB would hold up everybody for 200 ms.
    if (Array.isArray(next.value)) {
      for (let index = 0; index < next.value.length; index++) check(index, next.value[index])
      continue
    }
    for (const name of Object.keys(next.value)) {
      if (FORBIDDEN.includes(name)) throw fail('bad_request', `${at(name)} is not an allowed name`)
      const problem = textProblem(name)
      if (problem) throw fail('bad_request', `${at(name)} ${problem}`)
      check(name, (next.value as Record<string, unknown>)[name])
    }
  }
}

/** What is wrong with a text that Postgres and Parquet would refuse. */
export function textProblem(value: string): string | undefined {
  if (value.includes('\0')) return 'must not hold the character U+0000'
  return value.isWellFormed() ? undefined : 'must not hold half of a surrogate pair'
}
