import { parseStored } from '../../event/exact.ts'
import { isOneOf } from '../../lake/one-of.ts'
import type { Pipeline } from '../../lake/pipeline.ts'
import { openSession } from '../../lake/session.ts'
import type { Brand } from '../../op.ts'
import type { Found } from './cut.ts'

/** All that is stored of one person: rows by their kind, such as `orders`, and `events` of the lake. */
export type PersonData = Record<string, unknown[]>

/** Gathers it as the lake has it: a snapshot before `findPerson` adds what was accepted until now. */
export async function dataOf(
  pipeline: Pipeline,
  brand: Brand,
  { subjects, identifiers: { email, phone, store_customer_id } }: Found,
): Promise<PersonData> {
  const rows = await pipeline.postgres
    .forBrand(brand.id)
    .many<{ kind: string; row: string }>('data_of_person', [subjects, email, phone, store_customer_id])
  const byKind = Map.groupBy(rows, ({ kind }) => kind)
  const data = Object.fromEntries(
    [...byKind].map(([kind, some]) => [kind, some.map(({ row }) => parseStored(row))]),
  )
  return { ...data, events: await eventsOf(pipeline, brand, subjects) }
}

async function eventsOf(pipeline: Pipeline, brand: Brand, subjects: readonly number[]): Promise<unknown[]> {
  if (subjects.length === 0) return []
  const session = await openSession(pipeline, brand, new Date())
  try {
    const rows = await session.duck.rows<{ event: string }>(
      `select to_json({event_id: event_id, event_type: event_type, occurred_at: occurred_at, properties: properties})::varchar as event
       from events where ${isOneOf(subjects, 'subject')} order by occurred_at, event_id`,
    )
    return rows.map(({ event }) => parseStored(event))
  } finally {
    await session.close()
  }
}
