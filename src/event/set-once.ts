import { parseDigits } from 'libphonenumber-js'
import { identifierIn, type Sent, setIdentifier, UPDATE } from './check.ts'
import { emailOf } from './email.ts'
import { isObject } from './exact.ts'
import type { Report } from './walk.ts'

/** Checks that an event of a server names one email and one phone: of two the line has but one. */
export function checkSetOnce(sent: Sent, path: string, report: Report): void {
  if (sent.eventType !== UPDATE || !isObject(sent.properties)) return
  const { properties } = sent
  for (const field of ['email', 'phone'] as const) {
    const named: [at: string, text: string | undefined][] = [
      [field, identifierIn(sent[field], field)],
      [`properties.${field}`, identifierIn(properties[field], field)],
      [
        `properties.properties.${field}`,
        setIdentifier({ eventType: UPDATE, properties: properties.properties }, field),
      ],
    ]
    const [first, ...others] = named.filter(([, text]) => text !== undefined) as [string, string][]
    if (!first) continue
    for (const [at, text] of others)
      if (!isSame[field](first[1], text))
        report(
          `${path}.${at}`,
          `must be the same as ${first[0]}: to set another ${field} send it alone, and name the customer by profileId or storeCustomerId`,
        )
  }
}

const isSame = {
  email: (one: string, other: string) => emailOf(one) === emailOf(other),
  phone: (one: string, other: string) => lastDigits(one) === lastDigits(other),
}

/** Those that a number has however its country is written, and whatever extension. */
const lastDigits = (phone: string): string => parseDigits(phone.replace(/(?:x|ext)\D*\d+\s*$/i, '')).slice(-7)
