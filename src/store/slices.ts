const MOST = 10_000

/** Does work of any size in short transactions; `work` says how many of the rows that it might take it took. */
export async function sliceBySlice(work: (most: number) => Promise<number>): Promise<number> {
  for (let done = 0; ; ) {
    const taken = await work(MOST)
    done += taken
    if (taken < MOST) return done
  }
}
