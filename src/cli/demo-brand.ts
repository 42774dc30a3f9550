import type { App } from '../app.ts'
import { fail } from '../errors.ts'
import type { Brand } from '../op.ts'

/** Fails with conflict for a brand that has data: what a demo makes up never comes to it. */
export async function checkEmpty({ postgres }: App, { id }: Brand): Promise<void> {
  const { empty } = await postgres.forBrand(id).one<{ empty: boolean }>('brand_empty')
  if (!empty)
    throw fail(
      'conflict',
      'The brand has customers, orders or products: a demo store needs a brand of its own (recoup brand create).',
    )
}
