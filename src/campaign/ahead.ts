import type { Statements } from '../op.ts'

/** Runs that are to message a customer before others of the same campaign do. */
export class Ahead {
  /** By the run behind them; null: one that has messaged since that began. */
  readonly #ahead: ReadonlyMap<string, readonly (string | null)[]>
  readonly #ended = new Set<string>()

  private constructor(rows: readonly { id: string; ahead: string | null }[]) {
    this.#ahead = new Map(
      [...Map.groupBy(rows, ({ id }) => id)].map(([id, some]) => [id, some.map(({ ahead }) => ahead)]),
    )
  }

  /** Of runs that are about to message, with their contacts held. */
  static async of(tx: Statements, ids: readonly string[]): Promise<Ahead> {
    return new Ahead(ids.length ? await tx.many('runs_ahead', [ids]) : [])
  }

  /** A run comes after those ahead of it: behind each of them is whatever is behind it, and more. */
  inOrder<Run extends { id: string }>(runs: readonly Run[]): Run[] {
    const behind = ({ id }: Run) => this.#ahead.get(id)?.length ?? 0
    return runs.toSorted((a, b) => behind(a) - behind(b))
  }

  isAny(id: string): boolean {
    return (this.#ahead.get(id) ?? []).some((ahead) => ahead === null || !this.#ended.has(ahead))
  }

  /** Without a message. */
  ended(id: string): void {
    this.#ended.add(id)
  }
}
