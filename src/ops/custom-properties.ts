import type { Reader } from '../op.ts'

export const PROPERTY_TYPES = ['string', 'integer', 'decimal', 'date', 'boolean'] as const

/** A property that events of the brand set on profiles. */
export interface CustomProperty {
  name: string
  type: (typeof PROPERTY_TYPES)[number]
  multivalued: boolean
}

/** Names that events set are those of whoever sends events: beyond so many the rarest are left out, and long ones. */
const MOST = 1_000
const LONGEST = 128

/** Those of a brand, read from its sources. */
export const customProperties = (sources: Reader): Promise<CustomProperty[]> => sources.rows(CUSTOM)

const CUSTOM = `
  select
    name,
    case
      when bool_and(kind = 'boolean') then 'boolean'
      when bool_and(kind = 'number' and number = floor(number)) then 'integer'
      when bool_and(kind = 'number') then 'decimal'
      when bool_and(kind = 'string' and moment is not null) then 'date'
      else 'string'
    end as type,
    bool_or(kind = 'list') as multivalued
  from stg_customer_attributes
  where kind <> 'object' and length(name) <= ${LONGEST}
  group by name
  order by count(*) desc, name
  limit ${MOST}`
