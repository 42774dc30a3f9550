import { emailOf } from '../../event/email.ts'
import { digitsOf } from '../../event/exact.ts'
import { isNoId } from '../../event/id.ts'
import { MAX_NAME } from '../../event/shape.ts'
import { valueAt, withoutValueAt } from '../../event/singular-path.ts'
import type { Mappings } from './mappings.ts'
import { refuse } from './refuse.ts'

/** What the mappings found. Channels as they were sent. */
export interface Identified {
  externalId: string
  email: string | null
  phone: string | null
}

/** Applies the mappings to exact data. Throws a refusal when they give no external id or no channel. */
export function identify(data: Record<string, unknown>, mappings: Mappings): Identified {
  const at = (path: string | undefined) => (path ? textOf(valueAt(path, data)) : null)
  const externalId = at(mappings.external_id_path)
  if (externalId === null || isNoId(externalId) || !isShort(externalId)) {
    throw refuse(
      'missing_external_id',
      `external_id_path (${mappings.external_id_path}): must give an id: a text of 1 to ${MAX_NAME} characters or an integer; 0 and words such as undefined or guest stand for none`,
    )
  }
  const [email, phone] = [at(mappings.email_path), at(mappings.phone_path)]
  if (phone === null && (email === null || emailOf(email) === undefined)) throw noChannel()
  return { externalId, email, phone }
}

/** What an event of the data shows: the external id that the mappings found, and all else that was sent but the channels. */
export function propertiesOf(
  data: Record<string, unknown>,
  { email_path, phone_path }: Mappings,
  { externalId, email, phone }: Identified,
): Record<string, unknown> {
  const paths = [email_path, phone_path].filter((path) => path !== undefined)
  const rest = paths.reduce((left, path) => withoutValueAt(path, left), data)
  const isChannel = externalId === email || externalId === phone
  return isChannel || textOf(rest.external_id) === externalId ? rest : { ...rest, external_id: externalId }
}

export const noChannel = () =>
  refuse(
    'missing_contact_channel',
    'Neither email_path nor phone_path gives an email address or phone number',
  )

const isShort = (text: string) => text.length <= MAX_NAME || [...text].length <= MAX_NAME

/** A text that is not blank, or the digits of an integer; null for anything else. */
function textOf(value: unknown): string | null {
  if (typeof value === 'string') return value.trim() || null
  if (typeof value === 'number') return Number.isInteger(value) ? String(value) : null
  return digitsOf(value) ?? null
}
