import { randomUUID } from 'node:crypto'
import { v7 } from 'uuid'
import { mergeConsents } from './consents.ts'
import { EMAIL, KINDS, PHONE, type Profile, survivorOf } from './profile.ts'
import type { Resolution } from './resolve.ts'
import type { Ask } from './subject.ts'

/** Whether the database lacks anything of what was worked out. */
export const lacks = ({ added, identifiers, handedOn, redirected, changed, claims }: Resolution): boolean =>
  [
    ...[added, identifiers, handedOn, redirected, changed],
    ...[claims.added, claims.crossed, claims.waits, claims.answered],
  ].some((list) => list.length > 0)

/** Writes what the database lacks, merges with their rows of the ledger. */
export async function record(ask: Ask, resolution: Resolution, prefix: string): Promise<void> {
  const { added, changed, redirected, detached, merges } = resolution
  await addProfiles(ask, added, prefix)
  const linked = await addIdentifiers(ask, resolution)
  await addClaims(ask, resolution)
  if (detached.size) await ask('merges_of_visitors_end', [[...detached].map(({ subject }) => subject)])
  const merged = await addRedirects(ask, redirected)
  await mergeConsents(ask, [...linked, ...merged])
  if (merges.length) {
    await ask('merges_add', [
      merges.map(() => v7()),
      merges.map(({ from }) => from.subject),
      merges.map(({ to }) => to.subject),
      merges.map(({ kind, source }) => JSON.stringify({ kind: KINDS[kind], source })),
    ])
  }
  if (changed.length === 0) return
  await ask('profiles_describe', [
    column(changed, 'subject'),
    column(changed, 'profileId'),
    column(changed, 'email'),
    column(changed, 'phone'),
    column(changed, 'createdAt'),
  ])
}

const column = <Key extends keyof Profile>(profiles: readonly Profile[], key: Key) =>
  profiles.map((profile) => profile[key])

async function addProfiles(ask: Ask, added: readonly Profile[], prefix: string): Promise<void> {
  if (added.length === 0) return
  const [taken] = await ask<{ first: number }>('subjects_take', [added.length])
  for (const [at, profile] of added.entries()) profile.subject = (taken?.first ?? 0) + at
  const ids = added.map(({ storeCustomerId }) =>
    storeCustomerId === null ? randomUUID() : prefix + storeCustomerId,
  )
  const named = [column(added, 'storeCustomerId'), column(added, 'profileId')]
  const channels = [...named, column(added, 'email'), column(added, 'phone')]
  const rest = [...channels, column(added, 'provenance'), column(added, 'createdAt')]
  await ask('profiles_add', [column(added, 'subject'), ids, ...rest])
}

/** The subjects that contacts were linked to. */
async function addIdentifiers(ask: Ask, { identifiers, handedOn }: Resolution): Promise<number[]> {
  const rowsOf = (rows: typeof identifiers) => [
    rows.map(({ kind }) => KINDS[kind]),
    rows.map(({ value }) => value),
    rows.map(({ owner }) => owner.subject),
  ]
  if (identifiers.length > 0) await ask('identifiers_add', rowsOf(identifiers))
  if (handedOn.length > 0) {
    await ask('identifiers_take', rowsOf(handedOn))
    await ask('identifiers_handed_on')
  }
  const channels = identifiers.filter(({ kind }) => kind === EMAIL || kind === PHONE)
  if (channels.length === 0) return []
  const linked = await ask<{ subject: number }>('contacts_link', rowsOf(channels))
  return linked.map(({ subject }) => subject)
}

async function addClaims(ask: Ask, { claims }: Resolution): Promise<void> {
  const { added, crossed, waits, answered } = claims
  const named = (of: readonly { kind: number; value: string }[]) => [
    of.map(({ kind }) => KINDS[kind]),
    of.map(({ value }) => value),
  ]
  if (added.length) {
    const owners = added.map(({ owner }) => owner.subject)
    await ask('claims_add', [...named(added), owners, added.map(({ source }) => source)])
  }
  if (crossed.length) await ask('identifiers_share', named(crossed))
  if (answered.length) await ask('visitor_claims_end', named(answered))
  if (waits.length)
    await ask('visitor_claims_add', [...named(waits), waits.map(({ visitor }) => visitor.subject)])
}

/** The subjects that became somebody's, without visitors. */
async function addRedirects(ask: Ask, redirected: readonly Profile[]): Promise<number[]> {
  if (redirected.length === 0) return []
  const args = [column(redirected, 'subject'), redirected.map((profile) => survivorOf(profile).subject)]
  await ask('redirects_flatten', args)
  await ask('redirects_add', [...args, redirected.map(({ byBrowser }) => Number(byBrowser))])
  return redirected.filter(({ byBrowser }) => !byBrowser).map(({ subject }) => subject)
}
