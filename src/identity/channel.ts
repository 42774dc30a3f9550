import { type CountryCode, parsePhoneNumberFromString } from 'libphonenumber-js'

/**
 * A phone number as E.164; undefined for a text that is none. `region` (ISO 3166 alpha-2) is that of a number without
 * a country code. Length decides, not the ranges in use now: those change faster than libraries do.
 */
export function phoneOf(text: string, region: string): string | undefined {
  const number = parsePhoneNumberFromString(text, region as CountryCode)
  return number?.isPossible() ? number.number : undefined
}

/** The country (ISO 3166 alpha-2) that a number in E.164 says; undefined where it says none. */
export const countryOf = (phone: string): string | undefined => parsePhoneNumberFromString(phone)?.country
