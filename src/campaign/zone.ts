import { countryOf } from '../identity/channel.ts'

/** Countries of one time of which ICU lists zones with another clock, or none. */
const OF_ONE_TIME: Readonly<Record<string, string>> = {
  CN: 'Asia/Shanghai',
  UA: 'Europe/Kiev',
  XK: 'Europe/Belgrade',
}

/** Of countries of several times, where most of the people live. */
const MOST_LIVE_IN: Readonly<Record<string, string>> = {
  AU: 'Australia/Sydney',
  BR: 'America/Sao_Paulo',
  CA: 'America/Toronto',
  CD: 'Africa/Kinshasa',
  CL: 'America/Santiago',
  EC: 'America/Guayaquil',
  ES: 'Europe/Madrid',
  FM: 'Pacific/Truk',
  GL: 'America/Godthab',
  ID: 'Asia/Jakarta',
  KI: 'Pacific/Tarawa',
  MN: 'Asia/Ulaanbaatar',
  MX: 'America/Mexico_City',
  NZ: 'Pacific/Auckland',
  PF: 'Pacific/Tahiti',
  PG: 'Pacific/Port_Moresby',
  PT: 'Europe/Lisbon',
  RU: 'Europe/Moscow',
  US: 'America/New_York',
}

interface Country {
  zones: ReadonlySet<string>
  /** One zone of each clock, first that of the most people. */
  clocks: readonly string[]
}

const countries = new Map<string, Country>()

/**
 * Zones that a number (E.164) may be in, one of each clock of its country, first that of the most people. Only the brand's
 * where the brand is in a country of several times itself and that is it, and where the number does not say its country.
 */
export function zonesOf(phone: string | null, ofBrand: string): readonly string[] {
  const code = phone === null ? undefined : countryOf(phone)
  if (code === undefined) return [ofBrand]
  const country = countries.get(code) ?? countryIn(code)
  countries.set(code, country)
  const { zones, clocks } = country
  if (clocks.length === 0) return [ofBrand]
  return clocks.length > 1 && zones.has(canonical(ofBrand)) ? [ofBrand] : clocks
}

function countryIn(code: string): Country {
  const only = OF_ONE_TIME[code]
  if (only !== undefined) return { zones: new Set(), clocks: [only] }
  // Node 22 has it as the accessor of the proposal, which the types do not know.
  const { timeZones = [] } = new Intl.Locale(`und-${code}`) as { timeZones?: string[] }
  const first = MOST_LIVE_IN[code]
  const clocks = new Map<string, string>()
  for (const zone of first ? [first, ...timeZones] : timeZones)
    if (!clocks.has(yearIn(zone))) clocks.set(yearIn(zone), zone)
  return { zones: new Set(timeZones.map(canonical)), clocks: [...clocks.values()] }
}

/** A zone by the one name that ICU calls it; zones have several. */
function canonical(timeZone: string): string {
  try {
    return new Intl.DateTimeFormat('en', { timeZone }).resolvedOptions().timeZone
  } catch {
    return timeZone
  }
}

/** What clocks of a zone show in winter and in summer. */
function yearIn(timeZone: string): string {
  const year = new Date().getUTCFullYear()
  return [0, 6].map((month) => new Date(Date.UTC(year, month)).toLocaleString('en', { timeZone })).join()
}
