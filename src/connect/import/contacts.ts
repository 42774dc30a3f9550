import type { Channels } from '../../identity/contact.ts'
import type { Ask } from './ask.ts'

interface Named extends Channels {
  subject: number
  first_name: string | null
  last_name: string | null
}

/**
 * Contacts of customers follow to the channels that the newest word of them names, as they do for a store; a channel takes
 * no consent along, and what was refused stays refused. `rows` are those that import_customers had before, `changed` the
 * customers whose records it wrote.
 */
export async function importContacts(
  ask: Ask,
  rows: string,
  subjects: Int32Array,
  changed: readonly number[],
): Promise<void> {
  if (changed.length === 0) return
  const behind = await ask<Named>('import_contacts_behind', [rows, [...subjects], changed])
  if (behind.length === 0) return
  const text = JSON.stringify(behind)
  const held = await hold(ask, behind)
  // First, so that another customer of the chunk can have what one has no more.
  const left = await ask<Channels>('store_contacts_leave', [text])
  await ask('import_channels_take', [text])
  await ask('import_contacts_follow', [text])
  await ask('consent_apply', [held])
  await passOn(ask, left)
}

/** Channels that contacts have no more go to those of the customers whose records named them meanwhile. */
async function passOn(ask: Ask, left: readonly Channels[]): Promise<void> {
  const channels = left.flatMap(({ email, phone }) => [
    ...(email === null ? [] : [{ kind: 'email', value: email }]),
    ...(phone === null ? [] : [{ kind: 'phone', value: phone }]),
  ])
  if (channels.length === 0) return
  const heirs = await ask<Channels & { subject: number }>('store_channels_heirs', [
    channels.map(({ kind }) => kind),
    channels.map(({ value }) => value),
  ])
  if (heirs.length === 0) return
  const held = await hold(ask, heirs)
  await ask('import_contacts_follow', [JSON.stringify(heirs)])
  await ask('consent_apply', [held])
}

const hold = async (ask: Ask, named: readonly (Channels & { subject: number })[]): Promise<string[]> => {
  const subjects = named.map(({ subject }) => subject)
  const addresses = named.flatMap(({ email, phone }) => [email, phone]).filter((one) => one !== null)
  const held = await ask<{ id: string }>('import_consents_hold', [subjects, addresses])
  return held.map(({ id }) => id)
}
