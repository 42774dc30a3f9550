const AMOUNT = /^(-?)(\d{1,11})(?:\.(\d{1,12}))?$/

/** Hundredths of a decimal text, halves away from zero; null for a text that is no amount of the size of money. */
function hundredths(text: string): bigint | null {
  const [, sign, whole, fraction = ''] = AMOUNT.exec(text) ?? []
  if (whole === undefined) return null
  const digits = fraction.padEnd(3, '0')
  const value = BigInt(whole) * 100n + BigInt(digits.slice(0, 2)) + (digits.charAt(2) >= '5' ? 1n : 0n)
  return sign ? -value : value
}

/** The decimal text of so many hundredths: `12.30`. */
export function amount(value: bigint): string {
  const digits = String(value < 0n ? -value : value).padStart(3, '0')
  return `${value < 0n ? '-' : ''}${digits.slice(0, -2)}.${digits.slice(-2)}`
}

/** Of an amount of ours, however large it came out. */
export const hundredthsOf = (amount: string) => BigInt(amount.replace('.', ''))

/** `12.30` of a decimal text as the platform writes it; null for what is none. */
export function amountOf(text: string): string | null {
  const value = hundredths(text)
  return value === null ? null : amount(value)
}

/** Of amounts in the form of `amount`. */
export const sum = (amounts: readonly string[]): string =>
  amount(amounts.reduce((total, text) => total + hundredthsOf(text), 0n))

export const minus = (one: string, other: string): string => amount(hundredthsOf(one) - hundredthsOf(other))

export const least = (...amounts: readonly string[]): string => bound(amounts, (one, other) => one < other)
export const greatest = (...amounts: readonly string[]): string => bound(amounts, (one, other) => one > other)

const bound = (amounts: readonly string[], isBetter: (one: bigint, other: bigint) => boolean): string =>
  amounts.reduce((best, one) => (isBetter(hundredthsOf(one), hundredthsOf(best)) ? one : best))

/** Quantity × price. */
export const times = (quantity: number, price: string): string =>
  amount(BigInt(quantity) * hundredthsOf(price))

/** The share of an amount that `part` is of `whole`, halves away from zero; nothing of nothing. */
export function shareOf(given: string, part: string, whole: string): string {
  const [value, divisor] = [hundredthsOf(given) * hundredthsOf(part), hundredthsOf(whole)]
  if (divisor === 0n) return amount(0n)
  const isBelow = value < 0n !== divisor < 0n
  const [over, under] = [value < 0n ? -value : value, divisor < 0n ? -divisor : divisor]
  const rounded = (2n * over + under) / (2n * under)
  return amount(isBelow ? -rounded : rounded)
}
