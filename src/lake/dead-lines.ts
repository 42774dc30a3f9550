import type { Statements } from '../op.ts'
import type { LineFile } from './line-file.ts'

/** A line of the log that could not become a lake row. */
export interface DeadLine {
  batch_id: string
  line: number
  brand_id: string | null
  reason: string
  /** Its number in the file of the tick. */
  n: number
}

/** Lines and bytes of one statement; a single line may be longer. */
const LINES = 5_000
const BYTES = 8 << 20

/** Keeps them with their text, within the transaction that publishes the tick. All lines of a tick can be dead. */
export async function keepDead(
  tx: Pick<Statements, 'run'>,
  file: LineFile,
  dead: readonly DeadLine[],
): Promise<void> {
  for (const some of slices(file, dead)) {
    const column = <K extends keyof DeadLine>(key: K) => some.map((line) => line[key])
    const texts = await file.texts(column('n'))
    await tx.run('dead_events_add', [
      column('batch_id'),
      column('line'),
      column('brand_id'),
      column('reason'),
      texts.map((text) => text.toString('hex')),
    ])
  }
}

function* slices(file: LineFile, dead: readonly DeadLine[]): Generator<DeadLine[]> {
  let some: DeadLine[] = []
  let bytes = 0
  for (const line of dead) {
    bytes += file.bytes(line.n)
    if (some.length === LINES || (some.length && bytes > BYTES)) {
      yield some
      some = []
      bytes = file.bytes(line.n)
    }
    some.push(line)
  }
  if (some.length) yield some
}
