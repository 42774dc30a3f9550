import { fail } from '../errors.ts'
import { emailOf } from '../event/email.ts'
import { storeIdOf } from '../event/id.ts'
import type { Statements } from '../op.ts'
import type { Sql, Transaction } from '../store/postgres.ts'
import { statement } from '../store/sqlfile.ts'
import { phoneOf } from './channel.ts'
import { type Extent, loadKnown } from './known.ts'
import type { Tuple } from './profile.ts'
import { lacks, record } from './record.ts'
import { Resolution, type Source } from './resolve.ts'
import { settleShared } from './settle.ts'
import { verdicts } from './tombstone.ts'

/** Whom an event, an order or a customer record names, as it was sent. */
export interface Identity {
  storeCustomerId?: string
  /** A public customer id, or the sender's own id of a signed-in person. */
  profileId?: string
  email?: string
  phone?: string
  anonymousId?: string
  seenAt: Date
  /** When it was said, where that is not when they were seen: whether it is from before an erasure. */
  saidAt?: Date
  /** As of an event line: a browser's word attaches its visitor to at most one customer, and does nothing else. */
  origin?: 'browser' | undefined
}

export interface AssignOptions {
  storePlatformDomain: string
  /** Who says so, where it is no browser. */
  source?: Exclude<Source, 'browser'>
}

/** Longer identifiers of other kinds than email are kept out of identity; senders are refused them before. */
const LONGEST_IDENTIFIER = 512

/**
 * The subject that each identity's events carry: the holder of its strongest identifier (store customer id, profile
 * id, email, phone, visitor id), made when new; 0 when nothing in it identifies anybody, or it is data of an erased
 * customer from before the erasure (see `erasedAmong`). Weaker identifiers of the tuple join that profile, visitors and
 * contact-only customers by a redirect, two store customers never. The same call again changes nothing. Meant for up to
 * about 50,000 identities; calls for one brand take turns until their transaction (READ COMMITTED) ends. `Statements`
 * are those of a transaction of the brand.
 */
export async function assignSubjects(
  sql: Sql | Transaction | Statements,
  brandId: string,
  identities: readonly Identity[],
  { storePlatformDomain, source = 'server' }: AssignOptions,
): Promise<Int32Array> {
  if (identities.length === 0) return new Int32Array(0)
  const within = async (tx: Sql | Transaction | Statements, inTurn: boolean) => {
    const ask = queries(tx, brandId)
    if (inTurn) await ask('identity_lock')
    const [brand] = await ask<BrandRow>('identity_brand')
    if (!brand) throw fail('not_found', 'There is no such brand.')
    const prefix = prefixOf(storePlatformDomain, brand)
    const { tuples } = await withoutErased(ask, brand, prefix, identities)
    const resolved = await resolve(ask, brand, tuples, identities, source)
    if (inTurn) await resolved.write(prefix)
    return resolved
  }

  // Most calls bring nobody new: they take no lock and no transaction id.
  const known = await within(sql, false)
  if (!known.lacks) return known.subjects()
  const write = async (tx: Sql | Transaction | Statements) => (await within(tx, true)).subjects()
  return 'begin' in sql ? ((await sql.begin(write)) as Int32Array) : write(sql)
}

interface BrandRow extends Extent {
  shop_domain: string
  default_phone_region: string
  newest_erasure: Date | null
}

/**
 * Until when data that names each identity is to stay out, since it tells of a customer who was erased; null for all
 * others. What was said up to that instant may be kept without anything that identifies, or not at all.
 */
export async function erasedAmong(
  sql: Sql | Transaction | Statements,
  brandId: string,
  identities: readonly Identity[],
  { storePlatformDomain }: { storePlatformDomain: string },
): Promise<(Date | null)[]> {
  const ask = queries(sql, brandId)
  const [brand] = await ask<BrandRow>('identity_brand')
  if (!brand?.newest_erasure) return identities.map(() => null)
  return (await withoutErased(ask, brand, prefixOf(storePlatformDomain, brand), identities)).erased
}

/** Nothing is left of a tuple of somebody who was erased. */
async function withoutErased(
  ask: Ask,
  { newest_erasure, default_phone_region }: BrandRow,
  prefix: string,
  identities: readonly Identity[],
): Promise<{ tuples: readonly Tuple[]; erased: (Date | null)[] }> {
  const tuples = identities.map((identity) => tupleOf(identity, default_phone_region, prefix))
  const erased: (Date | null)[] = tuples.map(() => null)
  const said = tuples.map((tuple, at) => {
    const identity = identities[at] as Identity
    return { at, tuple, saidAt: saidAtOf(identity), origin: identity.origin }
  })
  const old = said.filter(({ saidAt }) => newest_erasure && saidAt <= newest_erasure)
  if (old.length === 0) return { tuples, erased }
  for (const [index, { erasedAt, left }] of (await verdicts(ask, old)).entries()) {
    const { at } = old[index] as { at: number }
    erased[at] = erasedAt
    tuples[at] = erasedAt ? [] : left
  }
  return { tuples, erased }
}

const saidAtOf = ({ seenAt, saidAt }: Identity) => saidAt ?? seenAt

/** A named statement with the brand as $1. */
export type Ask = <Row = unknown>(name: string, args?: unknown[]) => Promise<Row[]>

const queries =
  (sql: Sql | Transaction | Statements, brandId: string): Ask =>
  async (name, args = []) =>
    'many' in sql
      ? await sql.many(name, args)
      : ((await sql.unsafe(statement('postgres', name), [brandId, ...args] as never[], {
          prepare: true,
        })) as never)

const firstLabel = (domain: string) => domain.split('.', 1)[0] ?? domain
const prefixOf = (platform: string, { shop_domain }: BrandRow) =>
  `${firstLabel(platform)}:${firstLabel(shop_domain)}:`

function tupleOf(identity: Identity, region: string, prefix: string): Tuple {
  const named = idOf(identity.profileId)
  // The public id of a store customer says its store id.
  const storeIdInName = named?.startsWith(prefix) ? idOf(named.slice(prefix.length)) : undefined
  const email = identity.email === undefined ? undefined : emailOf(identity.email)
  return [
    idOf(identity.storeCustomerId && storeIdOf(identity.storeCustomerId)) ?? storeIdInName,
    storeIdInName === undefined ? named : undefined,
    email?.isWellFormed() && !email.includes('\0') ? email : undefined,
    identity.phone === undefined ? undefined : phoneOf(identity.phone, region),
    idOf(identity.anonymousId),
  ]
}

function idOf(text: string | undefined): string | undefined {
  const id = text?.trim()
  return id && id.length <= LONGEST_IDENTIFIER && !id.includes('\0') && id.isWellFormed() ? id : undefined
}

async function resolve(
  ask: Ask,
  brand: BrandRow,
  tuples: readonly Tuple[],
  identities: readonly Identity[],
  source: Source,
) {
  const resolution = new Resolution(brand.bars)
  await loadKnown(ask, tuples, resolution, brand)
  const owners = tuples.map((tuple, at) => {
    const { seenAt, origin } = identities[at] as Identity
    return resolution.resolve(tuple, seenAt.getTime(), origin ?? source)
  })
  resolution.clear()
  return {
    lacks: lacks(resolution),
    subjects: () => Int32Array.from(owners, (owner) => owner?.subject ?? 0),
    write: async (prefix: string) => {
      await record(ask, resolution, prefix)
      await settleShared(ask, resolution.claims.crossed)
    },
  }
}
