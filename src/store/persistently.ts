import { isOvertaken } from '../errors.ts'

const ATTEMPTS = 3

/** Once more after a lost race: what is there then is seen. */
export async function persistently<Result>(work: () => Promise<Result>): Promise<Result> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work()
    } catch (error) {
      if (attempt === ATTEMPTS || !isOvertaken(error)) throw error
    }
  }
}
