import { parseStored } from '../../event/exact.ts'
import type { Pipeline } from '../../lake/pipeline.ts'
import type { Brand } from '../../op.ts'
import type { Found } from './cut.ts'
import { lakeDataOf } from './person-lake.ts'

/** All that is stored of one person: rows by their kind, such as `orders`, those of the lake among them. */
export type PersonData = Record<string, unknown[]>

/** Gathers it as the lake has it: a snapshot before `findPerson` adds what was accepted until now. */
export async function dataOf(pipeline: Pipeline, brand: Brand, found: Found): Promise<PersonData> {
  const { subjects, identifiers } = found
  const { email, phone, store_customer_id } = identifiers
  const rows = await pipeline.postgres
    .forBrand(brand.id)
    .many<{ kind: string; row: string }>('data_of_person', [subjects, email, phone, store_customer_id])
  const byKind = Map.groupBy(rows, ({ kind }) => kind)
  const data = Object.fromEntries(
    [...byKind].map(([kind, some]) => [kind, some.map(({ row }) => parseStored(row))]),
  )
  return { ...data, ...(await lakeDataOf(pipeline, brand, found)) }
}
