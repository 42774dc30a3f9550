import * as v from 'valibot'
import { fail, noSuchRecord } from '../errors.ts'
import { count, text } from '../fields.ts'
import { type Ctx, type Op, op, type Published, type Reader } from '../op.ts'
import {
  checkWindow,
  isById,
  LISTED,
  offsetOf,
  offsetPaging,
  offsetUnread,
  PROFILES,
  resultsOf,
  sourcesOf,
  WINDOW,
} from './cdp-fields.ts'
import { Identity, identitiesOf, identityOf, Profile, profileOf } from './cdp-profile.ts'
import * as example from './cdp-profile-example.ts'
import { customerPath } from './customer-fields.ts'
import {
  type BUCKETS,
  type CustomerRow,
  customerRow,
  customersNamed,
  type FoundCustomer,
  findProfile,
  textsOf,
  wantedSql,
} from './customer-rows.ts'
import { paged } from './walk.ts'

const reading = { surface: 'cdp', scopes: ['customers:read'], feature: 'cdp', tool: false } as const

const cursor = v.optional(v.pipe(v.string(), v.nonEmpty('must not be empty')))
const QUERY_LENGTH = 200

/** A walk stays in the generation that it began in while that is kept; later it goes on in the newest. */
interface Position {
  generation: number
  after: string
}

interface Listed {
  bucket: keyof typeof BUCKETS
  /** What a search looks for. */
  texts?: readonly string[] | undefined
  sort: string
  limit: number
  offset: number
  after: string
}

async function pageOf(
  served: Published,
  { bucket, texts, sort, limit, offset, after }: Listed,
): Promise<CustomerRow[]> {
  const keys = await served.rows<{ customer: number }>(
    `select customer from customers
     where ${wantedSql(bucket, texts, 4)} and customer_id > $3
     order by ${PROFILES.sql(sort)} limit $1 offset $2`,
    [limit, offset, after, ...(texts ?? [])],
  )
  return await customersNamed(
    served,
    keys.map(({ customer }) => customer),
  )
}

/** Up to the window. */
async function sizeOf(reader: Reader, { bucket, texts }: Pick<Listed, 'bucket' | 'texts'>): Promise<number> {
  const [all] = await reader.rows<{ profiles: number }>(
    `select count(*) as profiles
     from (from customers where ${wantedSql(bucket, texts, 2)} limit $1)`,
    [WINDOW, ...(texts ?? [])],
  )
  return all?.profiles ?? 0
}

export const cdpProfileOps: readonly Op[] = [
  op({
    ...reading,
    name: 'list_cdp_profiles',
    route: 'GET /cdp/profiles',
    page: LISTED,
    tellsForeignCursors: true,
    errors: ['upstream_error'],
    what: 'Profiles of customers, or of anonymous visitors, as of the last refresh, with their identities; with `q` those that have this text in their email, phone, name or ids, in whatever case, with or without accents. `totalSize` ends at 10,000; in the order of their ids a walk by `nextCursor` goes on beyond, in the refresh that it began in.',
    input: {
      query: v.strictObject({
        bucket: v.optional(
          v.picklist(['customers', 'anonymous'], 'must be customers or anonymous'),
          'customers',
        ),
        q: v.optional(v.pipe(text({ max: QUERY_LENGTH }), v.trim())),
        ...offsetPaging(LISTED),
        offset: offsetUnread,
        cursor,
        sort: PROFILES.schema,
      }),
    },
    output: v.object({
      bucket: v.picklist(['customers', 'anonymous']),
      list: v.array(Profile),
      identities: v.record(v.string(), Identity),
      totalSize: count,
      offset: count,
      pageSize: count,
      scope: v.string(),
      nextCursor: v.nullable(v.string()),
    }),
    example: example.LISTED,
    run: async (ctx, { query }) => {
      const { bucket, limit, sort } = query
      const q = query.q === '' ? undefined : query.q
      const from = ctx.cursors.open<Position>(query.cursor, { bucket, q })
      if (from && !isById(sort))
        throw fail('bad_request', 'cursor goes with the sort itemId.keyword:asc only')
      const offset = from ? 0 : offsetOf(query.offset)
      if (!from) checkWindow({ limit, offset })
      const served = await resultsOf(ctx, from?.generation)
      const texts = q === undefined ? q : textsOf(q, ctx.brand)
      const asked = { bucket, texts, sort, limit: limit + 1, offset, after: from?.after ?? '' }
      const [found, totalSize] = served
        ? await Promise.all([pageOf(served, asked), sizeOf(served, asked)])
        : [[], 0]
      const { rows, last } = paged(found, limit)
      const isWalked = served && last && isById(sort)
      const next = isWalked && { generation: served.generation, after: last.customer_id }
      return {
        bucket,
        list: rows.map(profileOf),
        identities: await identitiesOf(ctx.db, rows),
        totalSize,
        offset,
        pageSize: limit,
        scope: ctx.brand.shop_domain,
        nextCursor: next ? ctx.cursors.seal(next, { bucket, q }) : null,
      }
    },
  }),

  op({
    ...reading,
    name: 'get_cdp_profile',
    route: 'GET /cdp/profiles/{id}',
    errors: ['upstream_error'],
    what: 'One profile as of the last refresh; one that is newer, as of now. The id of a profile that was merged answers as the one it belongs to.',
    input: { path: customerPath },
    output: v.object({ profile: Profile, identity: Identity, scope: v.string() }),
    example: example.READ,
    run: async (ctx, { path: { id } }) => {
      const found = await findProfile(ctx, id)
      const row = await profileRow(ctx, found)
      return {
        profile: profileOf(row),
        identity: identityOf(row, { contactId: found.contact_id, visitorIds: found.visitor_ids }),
        scope: ctx.brand.shop_domain,
      }
    },
  }),
]

async function profileRow(ctx: Ctx, { customer, generation }: FoundCustomer): Promise<CustomerRow> {
  const served = await resultsOf(ctx, undefined, generation)
  const row = served && (await customerRow(served, customer))
  const fresh = row ?? (await customerRow(await sourcesOf(ctx), customer))
  if (!fresh) throw noSuchRecord()
  return fresh
}
