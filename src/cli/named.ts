import { isDeepStrictEqual } from 'node:util'
import { personOf, type Standing, standingOf, whomsOf } from '../connect/erase/preview.ts'
import type { Whom } from '../identity/erasure-request.ts'
import { snapshotAll } from '../lake/horizon.ts'
import type { Pipeline } from '../lake/pipeline.ts'
import type { Brand } from '../op.ts'
import { UsageError } from './command.ts'

/** Whom an identifier names. */
export interface Named {
  whom: Whom
  standing: Standing
  /** Whom else it may name, where it names nobody. */
  others: Whom[]
}

/** Fails when it names several people. */
export async function namedBy(pipeline: Pipeline, brand: Brand, identifier: string): Promise<Named> {
  const whoms = await whomsOf(pipeline, brand, identifier)
  const before = await standingsOf(pipeline, brand, whoms)
  const isSettled = before.every(({ standing }) => isSomebody(standing))
  // Who only an event of the last minute names is known once the lake has that.
  if (!isSettled) await snapshotAll(pipeline)
  const all = isSettled ? before : await standingsOf(pipeline, brand, whoms)
  const somebody = all.filter(({ standing }) => isSomebody(standing))
  await refuseSeveral(pipeline, brand, identifier, somebody)
  const named = somebody[0] ?? all[0]
  if (!named) throw new Error('an identifier names nobody')
  const others = isSomebody(named.standing) ? [] : whoms.filter((whom) => whom !== named.whom)
  return { ...named, others }
}

type Stands = Pick<Named, 'whom' | 'standing'>

const isSomebody = (standing: Standing) => standing.known || standing.erasureId !== null

const standingsOf = (pipeline: Pipeline, brand: Brand, whoms: readonly Whom[]) =>
  Promise.all(whoms.map(async (whom) => ({ whom, standing: await standingOf(pipeline, brand, whom) })))

async function refuseSeveral(
  pipeline: Pipeline,
  brand: Brand,
  identifier: string,
  somebody: readonly Stands[],
): Promise<void> {
  const [one, ...more] = somebody
  for (const other of more)
    if (one && !(await isSame(pipeline, brand, one, other)))
      throw new UsageError(severalWords(identifier, [one.whom, other.whom]))
}

async function isSame(pipeline: Pipeline, brand: Brand, one: Stands, other: Stands): Promise<boolean> {
  if (!one.standing.known || !other.standing.known) return isDeepStrictEqual(one.standing, other.standing)
  const [{ subjects }, { subjects: others }] = [
    await personOf(pipeline, brand, one.whom),
    await personOf(pipeline, brand, other.whom),
  ]
  return subjects.length > 0 && isDeepStrictEqual(subjects, others)
}

/** Of an identifier that may name several people. */
export const severalWords = (identifier: string, whoms: readonly Whom[]): string =>
  `${identifier} may be ${whoms.map(wordsOf).join(' or ')}. Write a number with + and its country code, a store id as gid://shopify/Customer/ID.`

/** What an identifier was read as. */
export function wordsOf({ storeCustomerId, profileId, email, phone }: Whom): string {
  if (storeCustomerId) return `the store id ${storeCustomerId}`
  if (profileId) return `the id ${profileId}`
  return email ? `the email ${email}` : `the phone number ${phone}`
}
