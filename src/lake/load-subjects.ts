import { v7 } from 'uuid'
import { abreast } from '../abreast.ts'
import type { Subjects } from '../identity/cache.ts'
import { assignSubjects, type Identity } from '../identity/subject.ts'
import type { Duck } from '../store/duckdb.ts'
import { makeTable } from '../store/duckdb-table.ts'
import type { Postgres } from '../store/postgres.ts'
import { statement } from '../store/sqlfile.ts'
import { IDENTITIES_A_CALL, type IdentityRow, identityOf, isSettled } from './line-identity.ts'
import type { Pipeline } from './pipeline.ts'

/** Brands whose identities are worked out at the same time: what a call takes is mostly the way to Postgres and back. */
const BRANDS_AT_ONCE = 4

/**
 * The subject of every identity of the tick, as table `subjects (identity, subject)`. True when some were not known: their
 * profiles were made or changed, or may have been.
 */
export async function loadSubjects(pipeline: Pipeline, duck: Duck, subjects: Subjects): Promise<boolean> {
  await duck.run('create table subjects (identity varchar, subject integer)')
  const appender = await duck.connection.createAppender('subjects')
  const append: Append = (identity, subject) => {
    appender.appendVarchar(identity)
    appender.appendInteger(subject)
    appender.endRow()
  }
  const add = (row: IdentityRow, subject: number) => {
    if (isSettled(row)) subjects.set(row.identity, { subject, seenAt: row.seen_at.getTime() })
    append(row.identity, subject)
  }
  const unknown = await unknownIdentities(duck, subjects, append)
  const brands = [...Map.groupBy(unknown, (row) => row.brand_id)]
  await abreast(brands, BRANDS_AT_ONCE, (brand) => assignBrand(pipeline, ...brand, add))
  appender.closeSync()
  return unknown.length > 0
}

type Append = (identity: string, subject: number) => void

/**
 * Appends those whose subject is known, which are most, and of whom little is read. Who was seen earlier than their profile
 * knows is not among them.
 */
async function unknownIdentities(duck: Duck, subjects: Subjects, append: Append): Promise<IdentityRow[]> {
  const named = await duck.rows<{ identity: string; seen_at: number }>(
    'select identity, epoch_ms(min(occurred_at))::double as seen_at from kept group by identity',
  )
  const unknown = named.filter(({ identity, seen_at }) => {
    const known = subjects.get(identity)
    if (!known || seen_at < known.seenAt) return true
    append(identity, known.subject)
    return false
  })
  if (unknown.length === 0) return []
  await makeTable(
    duck,
    'unknown',
    { identity: 'VARCHAR' },
    unknown.map(({ identity }) => [identity]),
  )
  return await duck.rows<IdentityRow>(statement('duckdb', 'unknown_identities'))
}

async function assignBrand(
  { postgres, storePlatformDomain }: Pipeline,
  brandId: string,
  identities: readonly IdentityRow[],
  add: (row: IdentityRow, subject: number) => void,
): Promise<void> {
  for (let at = 0; at < identities.length; at += IDENTITIES_A_CALL) {
    const some = identities.slice(at, at + IDENTITIES_A_CALL)
    const named = some.map(identityOf)
    const assigned = await assignSubjects(postgres.sql, brandId, named, { storePlatformDomain })
    await addContacts(postgres, brandId, named, assigned)
    for (const [index, row] of some.entries()) add(row, assigned[index] ?? 0)
  }
}

/** Whom a server's word gives an address or a number can be messaged; a browser's word adds no contact. */
async function addContacts(
  postgres: Postgres,
  brandId: string,
  identities: readonly Identity[],
  assigned: Int32Array,
): Promise<void> {
  const named = identities.flatMap(({ email, phone, origin }, at) =>
    origin !== 'browser' && (email !== undefined || phone !== undefined) ? (assigned[at] ?? 0) : [],
  )
  const subjects = [...new Set(named)].filter((subject) => subject > 0).sort((a, b) => a - b)
  if (subjects.length === 0) return
  await postgres.pipeline.run('contacts_of_named', [brandId, subjects, subjects.map(() => v7())])
}
