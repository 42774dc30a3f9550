import { createHash } from 'node:crypto'
import { v7 } from 'uuid'
import { emailOf } from '../../event/email.ts'
import { phoneOf } from '../../identity/channel.ts'
import { requestErasure, requestErasureOfEverybody } from '../../identity/erasure-request.ts'
import type { Statements } from '../../op.ts'
import { type Fields, Unreadable } from './fields.ts'

interface Named {
  storeCustomerId: string | null
  email: string | null
  phone: string | null
}

function customerOf(fields: Fields): Named {
  const customer = fields.object('customer')
  if (!customer) throw new Unreadable('customer must be given')
  const named = {
    storeCustomerId: customer.idOrNull('id'),
    email: customer.text('email'),
    phone: customer.text('phone'),
  }
  if (!(named.storeCustomerId ?? named.email ?? named.phone))
    throw new Unreadable('customer must have an id, an email or a phone')
  return named
}

/** The store asks to forget a customer: the job does it. */
export async function forgetCustomer(tx: Statements, fields: Fields): Promise<void> {
  const { storeCustomerId, email, phone } = customerOf(fields)
  await requestErasure(tx, { storeCustomerId, email, phone }, 'customers/redact')
}

/** The store is gone for good, and all of its customers are to be forgotten. */
export async function forgetShop(tx: Statements): Promise<void> {
  await requestErasureOfEverybody(tx, 'shop/redact')
}

/** A customer asks what is stored; `recoup store data-request` answers. Addresses are as an erasure looks for them. */
export async function noteDataRequest(
  { tx, region }: { tx: Statements; region: string },
  fields: Fields,
  { triggeredAt }: { triggeredAt: string },
): Promise<void> {
  const { storeCustomerId, ...said } = customerOf(fields)
  const email = said.email && (emailOf(said.email) ?? said.email)
  const phone = said.phone && (phoneOf(said.phone, region) ?? said.phone)
  const id =
    fields.object('data_request')?.idOrNull('id') ?? hashOf(storeCustomerId ?? email ?? phone, triggeredAt)
  await tx.run('data_request_add', [v7(), id, storeCustomerId, email, phone, triggeredAt])
}

/** The same of a request that comes twice; nobody can be read from it. */
const hashOf = (...parts: readonly (string | null)[]): string =>
  createHash('sha256').update(JSON.stringify(parts)).digest('hex')
