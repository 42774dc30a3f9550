import { numberOf } from '../exact.ts'
import { step } from '../walk.ts'
import { MAX_WORK } from './limits.ts'
import { dialectOf, Targets } from './reference.ts'
import { RULES } from './rules.ts'
import type { Dialect, Schema } from './vocabulary.ts'

/** Where a value stands in the data. */
export interface Path {
  up: Path | null
  key: string | number
}

/** What is wrong with a value. */
export interface Problem {
  path: Path | null
  /** Most are of alternatives that another one makes up for: nobody reads them. */
  message(): string
}

/** The names and indexes of one value that some keyword has said something about. */
export interface Seen {
  names: Set<string>
  indexes: Set<number>
}

/** Thrown when a check takes more work than it may. */
export class TooMuchWork extends Error {}

/** Levels of schemas within schemas, over references. */
const MAX_LEVEL = 400
/** Characters of a text that can be gone through for one of work. */
const TEXT_FOR_ONE = 200
/** For the digits of an integer beyond 2^53. */
const LONG_INTEGER = 4
const LAST = ['unevaluatedItems', 'unevaluatedProperties']

/** One check of data against a schema; it stops after a bounded amount of work. */
export class Check {
  readonly root: Schema
  readonly dialect: Dialect
  /** Whether anything asks what was seen. */
  readonly tracks: boolean
  #work = MAX_WORK
  #level = 0
  readonly #targets: Targets

  constructor(root: Record<string, unknown>) {
    this.root = root
    this.#targets = new Targets(root)
    this.dialect = dialectOf(root)
    const text = this.dialect === '2020-12' ? JSON.stringify(root) : ''
    this.tracks = LAST.some((keyword) => text.includes(`"${keyword}"`))
  }

  get workDone(): number {
    return MAX_WORK - this.#work
  }

  spend(work: number): void {
    this.#work -= work
    if (this.#work < 0) throw new TooMuchWork()
  }

  /** For going through a text some times: comparing it, looking a name up. */
  spendText(text: string, times = 1): void {
    this.spend((text.length * times) / TEXT_FOR_ONE)
  }

  /** A number that kept its digits as a bigint or, with decimals, as a double; any other value as it is. */
  inFull(value: unknown): unknown {
    const number = typeof value === 'object' ? numberOf(value) : undefined
    if (number === undefined) return value
    this.spend(LONG_INTEGER)
    return number
  }

  /** The names of an object, of data or of the schema. */
  namesOf(value: object): string[] {
    const names = Object.keys(value)
    this.spend(1 + names.length)
    return names
  }

  /** Where to note what is seen of a value. */
  unseen(): Seen {
    return this.tracks ? nothingSeen() : UNUSED
  }

  /** The first problem of a value; null when it is as the schema says. */
  run(schema: Schema, value: unknown, path: Path | null, seen: Seen): Problem | null {
    this.spend(2)
    if (schema === true) return null
    if (schema === false) return { path, message: () => 'is not allowed' }
    if (++this.#level > MAX_LEVEL) throw new TooMuchWork()
    const at = new At(this, schema as Record<string, unknown>, value, path, seen)
    const problem = this.#keywords(at)
    this.#level--
    return problem
  }

  #keywords(at: At): Problem | null {
    const { schema } = at
    if (this.dialect === 'draft-07' && Object.hasOwn(schema, '$ref')) return at.here(this.target(schema.$ref))
    for (const keyword in schema) {
      if (LAST.includes(keyword)) continue
      this.spend(1)
      const problem = RULES.get(keyword)?.(at, at.beside(keyword))
      if (problem) return problem
    }
    if (!this.tracks) return null
    for (const keyword of LAST) {
      const problem = Object.hasOwn(schema, keyword) ? RULES.get(keyword)?.(at, schema[keyword]) : null
      if (problem) return problem
    }
    return null
  }

  /** The schema that a reference leads to; the schema was checked, so there is one. */
  target(reference: unknown): Schema {
    const text = String(reference)
    this.spendText(text)
    return this.#targets.of(text)
  }
}

/** A schema at a value: what the rules of its keywords see. Numbers are in full, but those within lists and objects. */
export class At {
  readonly check: Check
  readonly schema: Record<string, unknown>
  readonly value: unknown
  readonly path: Path | null
  readonly seen: Seen

  constructor(check: Check, schema: Record<string, unknown>, value: unknown, path: Path | null, seen: Seen) {
    this.check = check
    this.schema = schema
    this.value = check.inFull(value)
    this.path = path
    this.seen = seen
  }

  problem(message: () => string): Problem {
    return { path: this.path, message }
  }

  /** The value of a keyword of the same schema. */
  beside(keyword: string): unknown {
    return Object.hasOwn(this.schema, keyword) ? this.check.inFull(this.schema[keyword]) : undefined
  }

  /** Holds the same value against another schema, of which what it saw counts when it is satisfied. */
  here(schema: Schema): Problem | null {
    if (!this.check.tracks) return this.check.run(schema, this.value, this.path, this.seen)
    this.check.spend(3)
    const seen = nothingSeen()
    const problem = this.check.run(schema, this.value, this.path, seen)
    if (problem) return problem
    this.check.spend(seen.names.size + seen.indexes.size)
    for (const name of seen.names) this.seen.names.add(name)
    for (const index of seen.indexes) this.seen.indexes.add(index)
    return null
  }

  /** Holds a part of the value against a schema. */
  inside(schema: Schema, key: string | number): Problem | null {
    if (this.check.tracks) {
      this.check.spend(3)
      if (typeof key === 'number') this.seen.indexes.add(key)
      else this.seen.names.add(key)
    }
    const part = (this.value as Record<string | number, unknown>)[key]
    return this.check.run(schema, part, { up: this.path, key }, this.check.unseen())
  }
}

export const nothingSeen = (): Seen => ({ names: new Set(), indexes: new Set() })
/** Where nothing is tracked. */
const UNUSED = nothingSeen()

/** `data.items[0].price` */
export function pathText(path: Path | null): string {
  const steps: string[] = []
  for (let at = path; at; at = at.up) steps.push(step(at.key))
  return `data${steps.reverse().join('')}`
}

export type Rule = (at: At, argument: unknown) => Problem | null
