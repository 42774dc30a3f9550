/** Minutes by unit. */
export const UNITS = { minutes: 1, hours: 60, days: 1_440 } as const
export type Unit = keyof typeof UNITS

export interface Duration {
  amount: number
  unit: Unit
}

export const minutesOf = ({ amount, unit }: Duration): number => amount * UNITS[unit]

/** In the greatest unit that says it in whole numbers. */
export function durationOf(minutes: number): Duration {
  const unit = (['days', 'hours'] as const).find((one) => minutes > 0 && minutes % UNITS[one] === 0)
  return unit ? { amount: minutes / UNITS[unit], unit } : { amount: minutes, unit: 'minutes' }
}
