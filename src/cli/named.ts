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
  const isSettled = before.some(({ standing }) => isSomebody(standing))
  // Who only an event of the last minute names is known once the lake has that.
  if (!isSettled) await snapshotAll(pipeline)
  const all = isSettled ? before : await standingsOf(pipeline, brand, whoms)
  const known = all.filter(({ standing }) => standing.known)
  await refuseSeveral(pipeline, brand, identifier, known)
  const [named] = [...known, ...all.filter(({ standing }) => isSomebody(standing)), ...all]
  if (!named) throw new Error('an identifier names nobody')
  const others = isSomebody(named.standing) ? [] : whoms.filter((whom) => whom !== named.whom)
  return { ...named, others }
}

const isSomebody = (standing: Standing) => standing.known || standing.erasureId !== null

const standingsOf = (pipeline: Pipeline, brand: Brand, whoms: readonly Whom[]) =>
  Promise.all(whoms.map(async (whom) => ({ whom, standing: await standingOf(pipeline, brand, whom) })))

async function refuseSeveral(
  pipeline: Pipeline,
  brand: Brand,
  identifier: string,
  known: readonly { whom: Whom }[],
): Promise<void> {
  const [one, ...more] = known.map(({ whom }) => whom)
  if (!one || more.length === 0) return
  const { subjects } = await personOf(pipeline, brand, one)
  for (const whom of more) {
    const other = await personOf(pipeline, brand, whom)
    if (subjects.length === 0 || !isDeepStrictEqual(other.subjects, subjects))
      throw new UsageError(severalWords(identifier, [one, whom]))
  }
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
