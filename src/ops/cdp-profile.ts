import * as v from 'valibot'
import { parseStored } from '../event/exact.ts'
import { id, named, texts, time } from '../fields.ts'
import type { Db } from '../op.ts'
import { type PropertyType, propertiesOf } from '../segment/property.ts'
import { contactsOf } from './commerce-fields.ts'
import type { CustomerRow } from './customer-rows.ts'

/** Profiles as the customer-data host shows them. */

const TYPES: Readonly<Record<PropertyType, v.GenericSchema>> = {
  string: v.string(),
  integer: v.number(),
  decimal: v.string(),
  date: time,
  boolean: v.boolean(),
}

/** Those of the catalog that stand in `properties`, with the columns that they come from. */
const SHOWN = propertiesOf('profiles').flatMap(({ id: name, propertyName, type, multivalued, field }) =>
  propertyName.startsWith('properties.') && field.reads.is === 'column'
    ? [{ name, column: field.reads.name, schema: multivalued ? texts : TYPES[type] }]
    : [],
)

const provenance = v.picklist(['server', 'pixel', 'merged'])

export const Profile = named('Profile', {
  itemId: v.string(),
  /** The built-in ones, and whatever else events set. */
  properties: v.objectWithRest(
    Object.fromEntries(SHOWN.map(({ name, schema }) => [name, v.optional(schema)])),
    v.unknown(),
  ),
  provenance,
})

export const Identity = named('Identity', {
  profileId: v.string(),
  email: v.nullable(v.string()),
  phoneNumber: v.nullable(v.string()),
  firstName: v.nullable(v.string()),
  lastName: v.nullable(v.string()),
  storeCustomerId: v.nullable(v.string()),
  contactId: v.nullable(id),
  visitorIds: v.pipe(texts, v.description('The newest 100, the newest first.')),
})

/** What the service itself says of a profile: whoever sends events could make it up. */
const OWN: ReadonlySet<string> = new Set([
  ...propertiesOf('profiles').map(({ id: name }) => name),
  ...['scope', 'shopDomain', 'mergeIdentifier', 'contactId'],
])

/** What is not known is left out, and what events set under the name of what the service says. */
export const profileOf = (row: CustomerRow): v.InferOutput<typeof Profile> => ({
  itemId: row.customer_id,
  properties: Object.fromEntries([
    ...Object.entries(parseStored(row.attributes) as object).filter(([name]) => !OWN.has(name)),
    ...SHOWN.flatMap(({ name, column }) => {
      const value = (row as unknown as Record<string, unknown>)[column]
      if (value === null || value === undefined) return []
      return [[name, value instanceof Date ? value.toISOString() : value]]
    }),
  ]),
  provenance: row.provenance,
})

/** `contactId` and `visitorIds`: of the profile and of the ones that were merged into it; of visitors the newest. */
export const identityOf = (
  row: CustomerRow,
  { contactId, visitorIds }: { contactId: string | null; visitorIds: string[] },
): v.InferOutput<typeof Identity> => ({
  profileId: row.customer_id,
  email: row.email,
  phoneNumber: row.phone,
  firstName: row.first_name,
  lastName: row.last_name,
  storeCustomerId: row.store_customer_id,
  contactId,
  visitorIds,
})

/** The identities of these profiles by their ids. */
export async function identitiesOf(
  db: Pick<Db, 'many'>,
  rows: readonly CustomerRow[],
): Promise<Record<string, v.InferOutput<typeof Identity>>> {
  const [contacts, found] = await Promise.all([
    contactsOf(db, rows),
    db.many<{ customer: number; visitor_ids: string[] }>('visitors_of', [
      rows.map(({ customer }) => customer),
    ]),
  ])
  const visitors = new Map(found.map(({ customer, visitor_ids }) => [customer, visitor_ids]))
  return Object.fromEntries(
    rows.map((row) => {
      const { customer, customer_id } = row
      const contactId = contacts.get(customer) ?? null
      return [customer_id, identityOf(row, { contactId, visitorIds: visitors.get(customer) ?? [] })]
    }),
  )
}
