import { fail } from '../../errors.ts'
import { parseStored } from '../../event/exact.ts'
import { snapshotAll } from '../../lake/horizon.ts'
import { isOneOf } from '../../lake/one-of.ts'
import type { Pipeline } from '../../lake/pipeline.ts'
import { openSession } from '../../lake/session.ts'
import type { Brand } from '../../op.ts'
import { findPerson } from '../erase/cut.ts'

export interface DataRequest {
  id: string
  external_id: string
  store_customer_id: string | null
  email: string | null
  phone: string | null
  requested_at: Date
  answered_at: Date | null
}

/** All that is stored of one person: the rows of every table, and the events of the lake. */
export interface PersonalData {
  request: DataRequest
  [kind: string]: unknown
}

export const dataRequests = (pipeline: Pipeline, brandId: string) =>
  pipeline.postgres.forBrand(brandId).many<DataRequest>('data_requests_of')

/** Gathers what a request asks for, and notes that it was answered. */
export async function answerDataRequest(pipeline: Pipeline, brand: Brand, id: string): Promise<PersonalData> {
  const db = pipeline.postgres.forBrand(brand.id)
  const request = (await dataRequests(pipeline, brand.id)).find((one) => one.id === id)
  if (!request) throw fail('not_found', 'There is no such data request.')
  const subjects = await subjectsOf(pipeline, brand, request)
  const rows = await db.many<{ kind: string; row: string }>('data_of_subjects', [subjects])
  const byKind = Map.groupBy(rows, ({ kind }) => kind)
  const data = Object.fromEntries(
    [...byKind].map(([kind, some]) => [kind, some.map(({ row }) => parseStored(row))]),
  )
  const events = await eventsOf(pipeline, brand, subjects)
  await db.run('data_request_answered', [id])
  return { request, ...data, events }
}

/** Of the one person whom the strongest of the identifiers names: somebody else may have the others. */
async function subjectsOf(pipeline: Pipeline, brand: Brand, request: DataRequest): Promise<number[]> {
  const { store_customer_id, email, phone } = request
  const given = Object.entries({ store_customer_id, email, phone })
  const whom = Object.fromEntries(given.flatMap(([kind, value]) => (value === null ? [] : [[kind, value]])))
  const person = await pipeline.postgres.pipeline.tx((tx) => findPerson(tx, pipeline, brand.id, whom))
  return person.subjects
}

async function eventsOf(pipeline: Pipeline, brand: Brand, subjects: readonly number[]): Promise<unknown[]> {
  if (subjects.length === 0) return []
  await snapshotAll(pipeline)
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
