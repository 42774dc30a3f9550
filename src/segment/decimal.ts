/** A decimal number without loss: units ÷ 10^scale. */
export interface Decimal {
  units: bigint
  scale: number
}

const PATTERN = /^([+-]?)(\d+)(?:\.(\d+))?(?:e([+-]?\d{1,3}))?$/i

/** Reads "-12.50", or "1e+21" as JavaScript prints numbers; undefined when the text is no decimal number. */
export function parseDecimal(text: string): Decimal | undefined {
  const [, sign, whole, fraction = '', exponent = '0'] = PATTERN.exec(text) ?? []
  if (whole === undefined) return undefined
  const units = BigInt(`${sign === '-' ? '-' : ''}${whole}${fraction}`)
  const scale = fraction.length - Number(exponent)
  return scale < 0 ? { units: units * 10n ** BigInt(-scale), scale: 0 } : { units, scale }
}

/** What a column can hold: `scale` decimals after `digits` digits. */
export interface Grid {
  scale: number
  digits: number
  /** Its values were rounded, away from zero, and the greatest and the least stand for all that are beyond. */
  rounded?: true
}

export type Comparison = '=' | '>' | '>=' | '<' | '<='

export interface Fitted {
  op: Comparison
  /** With exactly `scale` decimals; null: the comparison holds for no value of the column. */
  value: string | null
}

/**
 * The same comparison with a value that the column's own type can hold: `total > 12.005` is
 * `total > 12.00` where totals have two decimals, and `total < 1e30` holds for every total there is.
 * So no column is widened, no cast overflows, and the shape of a statement doesn't depend on the value.
 */
export function fit(op: Comparison, text: string, { scale, digits, rounded }: Grid): Fitted {
  const number = parseDecimal(text)
  if (!number) throw new Error(`"${text}" is not a decimal number`)
  const { floor, exact } = onGrid(rounded ? round(number, scale) : number, scale)
  const limit = 10n ** BigInt(digits + scale) - 1n
  if (op === '=' && !exact) return { op, value: null }
  const units = exact || op === '>' || op === '<=' ? floor : floor + 1n
  const most = rounded ? limit - 1n : limit
  if (units >= -most && units <= most) return { op, value: print(units, scale) }
  const above = units > most
  const isBeyond = above === (op === '>' || op === '>=')
  if (op === '=' || (isBeyond && !rounded)) return { op, value: null }
  const end = print(above ? limit : -limit, scale)
  if (isBeyond) return { op: above ? '>=' : '<=', value: end }
  if (rounded) return { op: above ? '<' : '>', value: end }
  return { op: above ? '<=' : '>=', value: end }
}

/** Half units away from zero, as DuckDB casts. */
function round({ units, scale }: Decimal, target: number): Decimal {
  if (scale <= target) return { units, scale }
  const divisor = 10n ** BigInt(scale - target)
  const half = units < 0n ? -divisor / 2n : divisor / 2n
  return { units: (units + half) / divisor, scale: target }
}

function onGrid({ units, scale }: Decimal, target: number): { floor: bigint; exact: boolean } {
  if (scale <= target) return { floor: units * 10n ** BigInt(target - scale), exact: true }
  const divisor = 10n ** BigInt(scale - target)
  const quotient = units / divisor
  const rest = units % divisor
  return { floor: rest < 0n ? quotient - 1n : quotient, exact: rest === 0n }
}

function print(units: bigint, scale: number): string {
  const digits = (units < 0n ? -units : units).toString().padStart(scale + 1, '0')
  const whole = digits.slice(0, digits.length - scale)
  return `${units < 0n ? '-' : ''}${whole}${scale ? `.${digits.slice(-scale)}` : ''}`
}
