/** Identities resolved lately; about 60 MB when full. */
const MOST = 300_000

/**
 * Subjects by identity as sent. An identity keeps the subject that it was assigned to, through merges and when they are
 * undone: these change redirects only. So an entry stays true in every process; what erases a customer must `clear` it.
 */
export interface SubjectCache {
  /** Forgets everything when the number of erasures is not the one that it was filled under. */
  asOf(erasures: number): void
  get(identity: string): number | undefined
  set(identity: string, subject: number): void
  clear(): void
}

export function createSubjectCache(most = MOST): SubjectCache {
  // Two generations instead of a list of uses: the older one goes when the newer one is half of all.
  let recent = new Map<string, number>()
  let older = new Map<string, number>()
  const set = (identity: string, subject: number) => {
    recent.set(identity, subject)
    if (recent.size * 2 < most) return
    older = recent
    recent = new Map()
  }
  const clear = () => {
    recent = new Map()
    older = new Map()
  }
  let filledUnder = 0
  return {
    asOf(erasures) {
      if (erasures !== filledUnder) clear()
      filledUnder = erasures
    },
    get(identity) {
      const subject = recent.get(identity)
      if (subject !== undefined) return subject
      const aged = older.get(identity)
      if (aged !== undefined) set(identity, aged)
      return aged
    },
    set,
    clear,
  }
}
