import { parseStored } from '../event/exact.ts'
import type { Whom } from '../identity/erasure-request.ts'
import type { Reader } from '../op.ts'
import { type Definition, parseSaved, type Saved } from './definition.ts'
import { compileActual, compileCount, compileOne } from './plan.ts'
import { type Condition, conditionsOf } from './tree.ts'
import { conditionsInWords, type InWords } from './words.ts'

/** What a condition compares: null when it is missing. */
export type Actual = string | number | boolean | string[] | null

/** One condition of a definition, as it is for one customer. */
export interface Explained extends InWords {
  /** Where it stands, such as `definition.rule.all[1]`. */
  path: string
  actual: Actual
  /** Whatever groups make of it. */
  holds: boolean
  /** Whether membership would change if this condition alone were the other way round. */
  decides: boolean
}

export interface Explanation {
  member: boolean
  conditions: Explained[]
}

/** Who a public id means: the ordinal and the id of the customer, for a merged one those of its survivor. */
export async function customerOf(
  sources: Reader,
  customerId: string,
): Promise<{ customer: number; customer_id: string } | undefined> {
  const [found] = await sources.rows<{ customer: number; customer_id: string }>(
    `select survivor.subject as customer, survivor.customer_id
     from customers_source as named
     left join subject_redirect as redirect using (subject)
     inner join customers_source as survivor on survivor.subject = coalesce(redirect.customer, named.subject)
     where named.customer_id = $1`,
    [customerId],
  )
  return found
}

/** The same by any identifier; undefined when nobody has it. */
export async function customerNamed(
  sources: Reader,
  whom: Whom,
): Promise<{ customer: number; customer_id: string } | undefined> {
  const { profileId = null, storeCustomerId = null, email = null, phone = null } = whom
  const [named] = await sources.rows<{ customer_id: string }>(
    `select customer_id from customers_source
     where customer_id = $1 or store_customer_id = $2 or email = lower(trim($3)) or phone = $4
     order by customer_id = $1 desc nulls last, subject limit 1`,
    [profileId, storeCustomerId, email, phone],
  )
  return named && (await customerOf(sources, named.customer_id))
}

/** Why a customer (by ordinal) is a member of a saved segment or not: every condition, evaluated on its own by the same compiler. */
export async function explain(
  sources: Reader,
  segment: Readonly<Saved>,
  customer: number,
): Promise<Explanation> {
  const definition = parseSaved(segment)
  const inWords = conditionsInWords(parseStored(segment.definition) as Record<string, unknown>)
  const conditions = conditionsOf(definition)
  const truths = new Map<Condition, boolean>()
  for (const condition of conditions) truths.set(condition, await holdsFor(sources, condition, customer))
  const holds = (node: Definition, flipped?: Condition): boolean => {
    switch (node.is) {
      case 'all':
        return node.nodes.every((one) => holds(one, flipped))
      case 'any':
        return node.nodes.some((one) => holds(one, flipped))
      case 'not':
        return !holds(node.node, flipped)
      case 'condition':
        return (truths.get(node) ?? false) !== (node === flipped)
    }
  }
  // Who is outside the universe satisfies conditions and is no member all the same.
  const member = await isMember(sources, definition, customer)
  const inside = member || (await isMember(sources, { is: 'not', node: definition }, customer))
  const explained: Explained[] = []
  for (const condition of conditions) {
    const { path } = condition
    const said = inWords.get(path)
    if (!said) throw new Error(`${path} is said in no words`)
    explained.push({
      path,
      ...said,
      actual: await actualOf(sources, condition, customer),
      holds: truths.get(condition) ?? false,
      decides: inside && holds(definition, condition) !== holds(definition),
    })
  }
  return { member, conditions: explained }
}

async function holdsFor(sources: Reader, condition: Condition, customer: number): Promise<boolean> {
  const { text, values } = compileCount(condition, 'profile')
  const [row] = await sources.rows<{ count: number }>(
    `${text}\n  and customers.customer = $${values.length + 1}::integer`,
    [...values, customer],
  )
  return row?.count === 1
}

async function isMember(sources: Reader, tree: Definition, customer: number): Promise<boolean> {
  const { text, values } = compileOne(tree)
  const [row] = await sources.rows<{ holds: boolean }>(
    `select count(*) > 0 as holds from (${text}) where customer = $${values.length + 1}::integer`,
    [...values, customer],
  )
  return row?.holds ?? false
}

async function actualOf(sources: Reader, condition: Condition, customer: number): Promise<Actual> {
  const { text, values } = compileActual(condition, customer)
  const [row] = await sources.rows<{ actual: unknown; kind?: string }>(text, values)
  const actual = row?.actual ?? null
  if (actual instanceof Date) return actual.toISOString()
  if (typeof actual === 'bigint') return String(actual)
  return row?.kind && typeof actual === 'string' ? attributeOf(actual, row.kind) : (actual as Actual)
}

/** As it was sent; a number that JavaScript would change stays text. */
function attributeOf(text: string, kind: string): Actual {
  if (kind === 'boolean') return text === 'true'
  if (kind === 'number' && String(Number(text)) === text) return Number(text)
  return text
}
