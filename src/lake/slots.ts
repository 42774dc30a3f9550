import { fail } from '../errors.ts'

/** Who wants a slot. */
export interface Claim {
  brandId: string
  /** For what is computed as of an earlier instant. */
  past: boolean
}

export interface SlotCounts {
  all: number
  /** For the past, of which a brand has one at a time: the others are left to what is read as of now. */
  past: number
}

export interface Slots {
  /** Somebody waits for nothing but a free slot. */
  readonly wanted: boolean
  /** Somebody waits for a slot for the past, if only for another of these. */
  readonly pastWanted: boolean
  /** Returns what gives the slot back. Throws `unavailable` where too many wait, and the signal's reason. */
  take(claim: Claim, signal: AbortSignal): Promise<() => void>
}

interface Waiter extends Claim {
  begin(): void
}

/** The last one in a line gets its turn within half a minute, at a second each. */
const MOST_WAITING = 64
const MOST_OF_BRAND = 16
const RETRY_SECONDS = 5

/** Few of something at once. Whoever comes when none is free waits in the line of its brand; brands take turns. */
export function createSlots(counts: SlotCounts): Slots {
  const taken = new Set<Claim>()
  /** The brand whose turn is next first. */
  const lines = new Map<string, Waiter[]>()

  const mayTake = ({ brandId, past }: Claim): boolean => {
    if (!past) return true
    const others = [...taken].filter((claim) => claim.past)
    return others.length < counts.past && !others.some((claim) => claim.brandId === brandId)
  }
  const next = (): Waiter | undefined => {
    for (const line of lines.values()) {
      const found = line.find(({ past }) => !past) ?? line.find(mayTake)
      if (found) return found
    }
    return undefined
  }
  const remove = (waiter: Waiter): Waiter[] => {
    const others = (lines.get(waiter.brandId) ?? []).filter((one) => one !== waiter)
    if (others.length) lines.set(waiter.brandId, others)
    else lines.delete(waiter.brandId)
    return others
  }
  /** The others of its brand come behind those of all brands. */
  const serve = (waiter: Waiter) => {
    const others = remove(waiter)
    lines.delete(waiter.brandId)
    if (others.length) lines.set(waiter.brandId, others)
    waiter.begin()
  }
  const begin = (claim: Claim) => {
    taken.add(claim)
    return () => {
      taken.delete(claim)
      for (let first = next(); first && taken.size < counts.all; first = next()) serve(first)
    }
  }

  const wait = ({ brandId, past }: Claim, signal: AbortSignal): Promise<() => void> => {
    const line = lines.get(brandId) ?? []
    const waiting = [...lines.values()].reduce((sum, { length }) => sum + length, 0)
    if (line.length >= MOST_OF_BRAND || waiting >= MOST_WAITING)
      throw fail('unavailable', 'Too much is being computed on request. Try again with backoff.', {
        headers: { 'retry-after': String(RETRY_SECONDS) },
      })
    const { promise, resolve, reject } = Promise.withResolvers<() => void>()
    const leave = () => {
      remove(waiter)
      reject(signal.reason)
    }
    const waiter: Waiter = {
      ...{ brandId, past },
      begin: () => {
        signal.removeEventListener('abort', leave)
        resolve(begin(waiter))
      },
    }
    signal.addEventListener('abort', leave)
    lines.set(brandId, [...line, waiter])
    return promise
  }

  return {
    get wanted() {
      return next() !== undefined
    },
    get pastWanted() {
      return [...lines.values()].flat().some(({ past }) => past)
    },
    async take(claim, signal) {
      signal.throwIfAborted()
      return taken.size < counts.all && mayTake(claim) ? begin({ ...claim }) : await wait(claim, signal)
    },
  }
}
