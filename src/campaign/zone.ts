import { countryOf } from '../identity/channel.ts'

/** Countries of one time of which ICU lists zones with another clock, or none. */
const OF_ONE_TIME: Readonly<Record<string, string>> = {
  CN: 'Asia/Shanghai',
  UA: 'Europe/Kiev',
  XK: 'Europe/Belgrade',
}

const zones = new Map<string, string | null>()

/**
 * The time zone of a number (E.164): that of its country, where clocks are alike in all of it. Null where they are not, as
 * in the United States, and where the number does not say its country.
 */
export function zoneOf(phone: string): string | null {
  const country = countryOf(phone)
  if (country === undefined) return null
  const known = zones.get(country)
  if (known !== undefined) return known
  const zone = OF_ONE_TIME[country] ?? onlyZone(country)
  zones.set(country, zone)
  return zone
}

function onlyZone(country: string): string | null {
  // Node 22 has it as the accessor of the proposal, which the types do not know.
  const { timeZones = [] } = new Intl.Locale(`und-${country}`) as { timeZones?: string[] }
  const [first = null] = timeZones
  return timeZones.every((zone) => yearIn(zone) === yearIn(first ?? zone)) ? first : null
}

/** What clocks of a zone show in winter and in summer. */
function yearIn(timeZone: string): string {
  const year = new Date().getUTCFullYear()
  return [0, 6].map((month) => new Date(Date.UTC(year, month)).toLocaleString('en', { timeZone })).join()
}
