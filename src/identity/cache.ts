/** Identities resolved lately; about 16 MB besides their texts when full. */
const MOST = 300_000

/**
 * Subjects by identity as sent. An identity keeps the subject that it was assigned to, through merges and when they are
 * undone: these change redirects only. So an entry stays true in every process until somebody is erased.
 */
export interface Subjects {
  get(identity: string): Resolved | undefined
  set(identity: string, resolved: Resolved): void
}

export interface Resolved {
  subject: number
  /** The earliest that the profile was told of, in milliseconds since 1970: what is earlier is news of it. */
  seenAt: number
}

export interface SubjectCache {
  /**
   * The subjects under a number of erasures; empty where it is another one than the last time. What is resolved late goes
   * where nobody asks who knows of a later erasure.
   */
  asOf(erasures: number): Subjects
}

export function createSubjectCache(most = MOST): SubjectCache {
  let filledUnder = 0
  let subjects = createSubjects(most)
  return {
    asOf(erasures) {
      if (erasures !== filledUnder) subjects = createSubjects(most)
      filledUnder = erasures
      return subjects
    },
  }
}

export function createSubjects(most = MOST): Subjects {
  // Two generations instead of a list of uses: the older one goes when the newer one is half of all.
  let recent = new Map<string, Resolved>()
  let older = new Map<string, Resolved>()
  const set = (identity: string, resolved: Resolved) => {
    recent.set(identity, resolved)
    if (recent.size * 2 < most) return
    older = recent
    recent = new Map()
  }
  return {
    get(identity) {
      const resolved = recent.get(identity)
      if (resolved) return resolved
      const aged = older.get(identity)
      if (aged) set(identity, aged)
      return aged
    },
    set,
  }
}
