import { fail } from '../../errors.ts'
import { snapshotAll } from '../../lake/horizon.ts'
import type { Pipeline } from '../../lake/pipeline.ts'
import type { Brand } from '../../op.ts'
import { findPerson } from '../erase/cut.ts'
import { dataOf } from '../erase/person-data.ts'

export interface DataRequest {
  id: string
  external_id: string
  store_customer_id: string | null
  email: string | null
  phone: string | null
  requested_at: Date
  answered_at: Date | null
}

export interface DataAnswer {
  request: DataRequest
  /** As of PersonData. */
  [kind: string]: unknown
}

export const dataRequests = (pipeline: Pipeline, brandId: string) =>
  pipeline.postgres.forBrand(brandId).many<DataRequest>('data_requests_of')

/**
 * Gathers what a request asks for, and notes that it was answered: of the one person whom the strongest of its identifiers
 * names, since somebody else may have the others.
 */
export async function answerDataRequest(pipeline: Pipeline, brand: Brand, id: string): Promise<DataAnswer> {
  const request = (await dataRequests(pipeline, brand.id)).find((one) => one.id === id)
  if (!request) throw fail('not_found', 'There is no such data request.')
  const { store_customer_id, email, phone } = request
  const given = Object.entries({ store_customer_id, email, phone })
  const whom = Object.fromEntries(given.flatMap(([kind, value]) => (value === null ? [] : [[kind, value]])))
  await snapshotAll(pipeline)
  const person = await pipeline.postgres.pipeline.tx((tx) => findPerson(tx, pipeline, brand.id, whom))
  const data = await dataOf(pipeline, brand, person)
  await pipeline.postgres.forBrand(brand.id).run('data_request_answered', [id])
  return { request, ...data }
}
