import { fail } from '../errors.ts'
import type { Ctx, Rate, Reader } from '../op.ts'

/** Of an insight and a credential; and, as of past instants, of all insights of a brand. */
export const INSIGHT_RATE: Rate = { count: 10, per: 'second' }

/** What the first page of a walk was read from. */
export type Begun = Pick<Reader, 'generation' | 'pin'>

/**
 * Where the marts are read from: the newest published results, or the marts computed as they were at a past instant, by
 * the identities of today. Before the first refresh they are computed on request. `from params` says as of when they are.
 * A walk goes on in what it began in. What is as of a past instant is counted: it is computed in one of the few sessions
 * that all brands share.
 */
export async function martsOf(
  { lake, now, limit }: Pick<Ctx, 'lake' | 'now' | 'limit'>,
  asOf?: Date,
  begun: Begun | null = null,
): Promise<Reader> {
  if (asOf) await limit('insights of the past', INSIGHT_RATE)
  if (begun?.pin) return await lake.pinned(begun.pin)
  if (!asOf) return (await lake.served(begun?.generation)) ?? (await lake.sources())
  if (asOf > now) throw fail('bad_request', 'as_of must be in the past')
  return await lake.sources(asOf)
}

/** The currency that amounts of marts are in: the brand's when they were made. */
export async function currencyOf(marts: Reader): Promise<string> {
  const [made] = await marts.rows<{ currency_code: string }>('select currency_code from params')
  if (!made) throw new Error('marts without params')
  return made.currency_code
}
