import { emailOf } from '../../event/email.ts'
import { phoneOf } from '../../identity/channel.ts'
import type { Duck } from '../../store/duckdb.ts'
import { makeTable } from '../../store/duckdb-table.ts'

/** The table `phone (given, number)`: each phone of `picked` as E.164, null where it is none. */
export const loadPhones = (duck: Duck, region: string) =>
  load(duck, 'phone', 'number', (text) => phoneOf(text, region))

/** The table `email (given, address)`: each email of `picked` as it is stored, null where it is none. */
export const loadEmails = (duck: Duck) => load(duck, 'email', 'address', emailOf)

async function load(
  duck: Duck,
  channel: 'phone' | 'email',
  stored: string,
  normalise: (text: string) => string | undefined,
): Promise<void> {
  const rows = await duck.rows<{ given: string }>(
    `select distinct ${channel} as given from picked where ${channel} is not null`,
  )
  await makeTable(
    duck,
    channel,
    { given: 'VARCHAR', [stored]: 'VARCHAR' },
    rows.map(({ given }) => [given, normalise(given) ?? null]),
  )
}
