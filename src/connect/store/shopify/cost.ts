import { Failure } from '../../../errors.ts'

/** The store would answer for fewer records. */
const isTooCostly = (error: unknown) => error instanceof Failure && error.beside.code === 'MAX_COST_EXCEEDED'

/** What `ask` resolves with for `first` records, or for as many fewer as the store does not find too costly. */
export async function affordable<Result>(
  first: number,
  ask: (first: number) => Promise<Result>,
): Promise<Result> {
  for (let some = first; ; some = Math.floor(some / 2)) {
    try {
      return await ask(some)
    } catch (error) {
      if (!isTooCostly(error) || some === 1) throw error
    }
  }
}
