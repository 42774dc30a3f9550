import type { Transaction } from '../../store/postgres.ts'
import { statement } from '../../store/sqlfile.ts'

/** Asks a named statement for rows of the brand, which is its first argument. */
export type Ask = <Row>(name: string, args: readonly unknown[]) => Promise<Row[]>

export const askOf =
  (tx: Transaction, brandId: string): Ask =>
  <Row>(name: string, args: readonly unknown[]) =>
    tx.unsafe(statement('postgres', name), [brandId, ...args] as never[]) as unknown as Promise<Row[]>
