import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { App } from '../app.ts'
import type { Config } from '../config.ts'
import { fail } from '../errors.ts'
import type { Brand } from '../op.ts'

export interface Size {
  customers: number
  days: number
  seed: number
}

/** The data folder remembers of each brand what it was filled with: only to the same end is it the same history again. */
export interface Filled extends Size {
  ends_at: string
}

const memory = ({ dataDir }: Config, { id }: Brand) => join(dataDir, `demo-${id}.json`)

/** What `recoup demo` filled the brand with; null when it did not. */
export function filledWith(config: Config, brand: Brand): Filled | null {
  try {
    return JSON.parse(readFileSync(memory(config, brand), 'utf8')) as Filled
  } catch {
    return null
  }
}

export const rememberFilled = (config: Config, brand: Brand, filled: Filled): void =>
  writeFileSync(memory(config, brand), JSON.stringify(filled))

/** Fails with conflict for a brand that has data: what a demo makes up never comes to it. */
export async function checkEmpty({ postgres }: App, { id }: Brand): Promise<void> {
  const { empty } = await postgres.forBrand(id).one<{ empty: boolean }>('brand_empty')
  if (!empty)
    throw fail(
      'conflict',
      'The brand has customers, orders or products: a demo store needs a brand of its own (recoup brand create).',
    )
}
