import { fail } from '../errors.ts'
import type { Ctx, Reader } from '../op.ts'

/** What the first page of a walk was read from. */
export type Begun = Pick<Reader, 'generation' | 'pin'>

/**
 * Where the marts are read from: the newest published results, or the marts computed as they were at a past instant, by
 * the identities of today. Before the first refresh they are computed on request. `from params` says as of when they are.
 * A walk goes on in what it began in.
 */
export async function martsOf(
  { lake, now }: Pick<Ctx, 'lake' | 'now'>,
  asOf?: Date,
  begun: Begun | null = null,
): Promise<Reader> {
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
