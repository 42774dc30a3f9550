import { type CountryCode, parsePhoneNumberFromString } from 'libphonenumber-js'

/** Numbers as they were before a country changed its plan: senders go on writing them for years. */
const FORMER: readonly [RegExp, string][] = [
  // Mobile numbers of Mexico, until 2019.
  [/^\+521(\d{10})$/, '+52$1'],
  // Of Benin, until 2024.
  [/^\+229(\d{8})$/, '+22901$1'],
]

/**
 * A phone number as E.164; undefined for a text that is none. `region` (ISO 3166 alpha-2) is that of a number without
 * a country code. Length decides, not the ranges in use now: those change faster than libraries do.
 */
export function phoneOf(text: string, region: string): string | undefined {
  const number = parsePhoneNumberFromString(text, region as CountryCode)
  if (!number || number.isPossible()) return number?.number
  const renewed = FORMER.reduce((said, [former, now]) => said.replace(former, now), `${number.number}`)
  return renewed === number.number ? undefined : renewed
}

/** What a phone number is written with. */
const PHONE = /^[+＋\p{Nd}\s()./\p{Pd}\p{Cf}]+$/u

/** The same of a text that is a phone number and nothing else. */
export const phoneAlone = (text: string, region: string): string | undefined =>
  PHONE.test(text) ? phoneOf(text, region) : undefined

/** The country (ISO 3166 alpha-2) that a number in E.164 says; undefined where it says none. */
export const countryOf = (phone: string): string | undefined => parsePhoneNumberFromString(phone)?.country
