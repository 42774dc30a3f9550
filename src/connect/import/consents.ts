import { v7 } from 'uuid'
import type { Ask } from './ask.ts'

interface Word {
  channel: 'email' | 'sms'
  state: string | null
  /** What the channel needs, normalised. */
  address: string | null
  at: string | null
}

/**
 * Hears what rows of customers say on consent, within a transaction of the brand; `text` has the words of each row and
 * `subjects` whose they are. A row without the address that a channel needs says nothing of it. Resolves with the customers
 * of whom anything is new.
 */
export async function importConsents(
  ask: Ask,
  text: string,
  subjects: Int32Array,
  source: string,
): Promise<number[]> {
  const words = (JSON.parse(text) as Word[][]).flatMap((row, at) =>
    row
      .filter(({ state, address }) => state !== null && address !== null)
      .map((word) => ({ subject: subjects[at] ?? 0, ...word })),
  )
  if (words.length === 0) return []
  const theirs = [...new Set(words.map(({ subject }) => subject))].filter((one) => one !== 0).sort(ascending)
  const addresses = [...new Set(words.map(({ address }) => address))]
  for (const name of ['contacts_of_named', 'import_consent_holders'])
    await ask(name, [theirs, theirs.map(() => v7())])
  const held = await ask<{ id: string }>('import_consents_hold', [theirs, addresses])
  const news = await ask<{ subject: number }>('import_consents', [JSON.stringify(words), source])
  if (news.length) await ask('consent_apply', [held.map(({ id }) => id)])
  return news.map(({ subject }) => subject).filter((one) => one !== 0)
}

const ascending = (one: number, other: number) => one - other
