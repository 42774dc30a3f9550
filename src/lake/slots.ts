/** At most so many of something at once; whoever comes when none is free waits in line. */
export interface Slots {
  readonly waiting: number
  take(): Promise<void>
  give(): void
}

export function createSlots(count: number): Slots {
  const line: (() => void)[] = []
  let free = count
  return {
    get waiting() {
      return line.length
    },
    async take() {
      if (free === 0) return await new Promise((resolve) => line.push(resolve))
      free--
    },
    give() {
      const next = line.shift()
      if (next) next()
      else free++
    },
  }
}
