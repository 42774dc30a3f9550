import { openInvalidation } from '../access/invalidation.ts'
import type { App } from '../app.ts'

/** Returns once every running server goes by what was changed. */
export async function everywhere({ postgres }: App): Promise<void> {
  const invalidation = await openInvalidation(postgres)
  await invalidation.everywhere().finally(invalidation.close)
}
