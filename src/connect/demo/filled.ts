import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Config } from '../../config.ts'

export interface Size {
  customers: number
  days: number
  seed: number
}

/** The data folder remembers of each brand what it was filled with: only to the same end is it the same history again. */
export interface Filled extends Size {
  ends_at: string
}

type Folder = Pick<Config, 'dataDir'>

const memory = ({ dataDir }: Folder, brandId: string) => join(dataDir, `demo-${brandId}.json`)

/** What `recoup demo` filled the brand with; null when it did not. */
export function filledWith(folder: Folder, brandId: string): Filled | null {
  try {
    return JSON.parse(readFileSync(memory(folder, brandId), 'utf8')) as Filled
  } catch {
    return null
  }
}

export const rememberFilled = (folder: Folder, brandId: string, filled: Filled): void =>
  writeFileSync(memory(folder, brandId), JSON.stringify(filled))
