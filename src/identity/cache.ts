/** Identities resolved lately; about 16 MB besides their texts when full. */
const MOST = 300_000

/**
 * Subjects by identity as sent. An identity keeps the subject that it was assigned to, through merges and when they are
 * undone: these change redirects only. So an entry stays true in every process until somebody is erased, or what they were
 * named with is handed on.
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

/** How often each happened. */
interface Under {
  erasures: number
  handed_on: number
}

export interface SubjectCache {
  /**
   * The subjects under a number of erasures and of identifiers handed on; empty where it is another one than the last
   * time. What is resolved late goes where nobody asks who knows of a later one.
   */
  asOf(under: Under): Subjects
}

export function createSubjectCache(most = MOST): SubjectCache {
  let filledUnder: Under = { erasures: 0, handed_on: 0 }
  let subjects = createSubjects(most)
  return {
    asOf({ erasures, handed_on }) {
      if (erasures !== filledUnder.erasures || handed_on !== filledUnder.handed_on)
        subjects = createSubjects(most)
      filledUnder = { erasures, handed_on }
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
