import { setImmediate } from 'node:timers/promises'
import { inPieces } from './pieces.ts'
import { wordsOf } from './topic-word.ts'

/** What somebody wrote. */
export interface Text {
  id: string
  /** Who: what one person writes again and again is no topic. */
  author: string
  body: string
}

/** A group of messages that are about the same. */
export interface Topic {
  /** The plain form of the first keyword. */
  key: string
  /** The most telling one first, each as most people write it. */
  keywords: string[]
  messages: string[]
}

const MOST_TOPICS = 100
const MOST_KEYWORDS = 5
/** Words of fewer people are nobody's business but theirs. */
const LEAST_AUTHORS = 2

/**
 * Groups texts by what they are about. A topic begins with the word that tells most of the texts that are left, which
 * is the one with the greatest sum of tf-idf, and takes all of these that have it; its further keywords are those that
 * tell most within the group. The same texts give the same topics, whatever their order.
 */
export async function topicsOf(texts: readonly Text[]): Promise<Topic[]> {
  const { terms, asWritten } = await countedIn(texts)
  const topics: Topic[] = []
  while (topics.length < MOST_TOPICS) {
    await setImmediate()
    const first = mostTelling(terms)
    if (!first) break
    const about = first.uses.map(({ document }) => document)
    for (const document of about) document.isLeft = false
    const keywords = [first, ...furtherOf(about, first, terms)]
    topics.push({
      key: first.plain,
      keywords: keywords.map(({ plain }) => asWritten.get(plain)?.word ?? plain),
      messages: about.map(({ id }) => id),
    })
  }
  return topics
}

interface Document {
  id: string
  author: string
  uses: Use[]
  /** It is about none of the topics that were found. */
  isLeft: boolean
}

/** A word of documents, in its plain form. */
interface Term {
  plain: string
  /** In documents that are left, as of when it was last weighed. */
  uses: Use[]
  idf: number
  /** What it weighed then: never less than now, since no document comes back. */
  weight: number
}

/** A term in a document. */
interface Use {
  term: Term
  document: Document
  /** How much of the document it is: a message of many words weighs no more. */
  share: number
}

/** The terms of texts that several people wrote, and how each term is written. */
async function countedIn(texts: readonly Text[]) {
  const terms = new Map<string, Term>()
  const written = new Map<string, { plain: string; count: number }>()
  for await (const some of inPieces(texts.toSorted((one, other) => (one.id < other.id ? -1 : 1))))
    for (const { id, author, body } of some) {
      const words = wordsOf(body)
      const counts = new Map<Term, number>()
      for (const { word, plain } of words) {
        const form = written.get(word) ?? { plain, count: 0 }
        written.set(word, form)
        form.count++
        const term = terms.get(plain) ?? { plain, uses: [], idf: 0, weight: 0 }
        terms.set(plain, term)
        counts.set(term, (counts.get(term) ?? 0) + 1)
      }
      const document: Document = { id, author, uses: [], isLeft: true }
      for (const [term, count] of counts) {
        const use = { term, document, share: count / words.length }
        document.uses.push(use)
        term.uses.push(use)
      }
    }
  const shared = new Set<Term>()
  for await (const some of inPieces([...terms.values()]))
    for (const term of some) {
      term.idf = Math.log(1 + texts.length / term.uses.length)
      weigh(term)
      if (term.weight > 0) shared.add(term)
    }
  return { terms: shared, asWritten: commonForms(written) }
}

/** The form that each plain one is written in most often. */
function commonForms(written: ReadonlyMap<string, { plain: string; count: number }>) {
  const common = new Map<string, { word: string; count: number }>()
  for (const [word, { plain, count }] of written) {
    const known = common.get(plain)
    if (!known || count > known.count || (count === known.count && word < known.word))
      common.set(plain, { word, count })
  }
  return common
}

/** Anew, by what is left: the sum of its tf-idf. A term of fewer people weighs nothing. */
function weigh(term: Term): void {
  term.uses = term.uses.filter(({ document }) => document.isLeft)
  const authors = new Set<string>()
  const isShared = term.uses.some(({ document }) => authors.add(document.author).size >= LEAST_AUTHORS)
  term.weight = isShared ? term.uses.reduce((sum, { share }) => sum + share, 0) * term.idf : 0
}

/** Only terms that may weigh more than the one that weighs most so far are weighed anew. */
function mostTelling(terms: Iterable<Term>): Term | undefined {
  let most: Term | undefined
  for (const term of terms) {
    if (!isBefore(term, most)) continue
    weigh(term)
    if (isBefore(term, most)) most = term
  }
  return most
}

type Weighed = Pick<Term, 'plain' | 'weight'>

const isBefore = (one: Weighed, other: Weighed | undefined): boolean =>
  other
    ? one.weight > other.weight || (one.weight === other.weight && one.plain < other.plain)
    : one.weight > 0

/** What tells most within a topic, beside its first term. */
function furtherOf(about: readonly Document[], first: Term, terms: ReadonlySet<Term>): Weighed[] {
  const sums = new Map<Term, number>()
  for (const { uses } of about)
    for (const { term, share } of uses) sums.set(term, (sums.get(term) ?? 0) + share)
  const further: Weighed[] = []
  for (const [term, sum] of sums) {
    if (term === first || !terms.has(term)) continue
    const one = { plain: term.plain, weight: sum * term.idf }
    if (further.length === MOST_KEYWORDS - 1 && !isBefore(one, further.at(-1))) continue
    further.push(one)
    further.sort((one, other) => (isBefore(one, other) ? -1 : 1)).splice(MOST_KEYWORDS - 1)
  }
  return further
}
