import { STOP_WORDS } from './stop-word.ts'

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
const LEAST_LETTERS = 3
const MOST_LETTERS = 30

/** The words of a text that can tell what it is about, each with its plain form. */
export function wordsOf(body: string): { word: string; plain: string }[] {
  const text = body
    .normalize('NFC')
    .toLowerCase()
    .replace(/https?:\/\/\S+/g, ' ')
    .replace(/[’']/g, '')
  return (text.match(/\p{L}+/gu) ?? []).flatMap((word) => {
    const plain = singular(word)
    const length = [...plain].length
    const isTelling =
      length >= LEAST_LETTERS && length <= MOST_LETTERS && !STOP_WORDS.has(word) && !STOP_WORDS.has(plain)
    return isTelling ? [{ word, plain }] : []
  })
}

const singular = (word: string) => (/[^su]s$/.test(word) && word.length > 3 ? word.slice(0, -1) : word)

/**
 * Groups texts by what they are about. A topic begins with the word that tells most of the texts that are left, which
 * is the one with the greatest sum of tf-idf, and takes all of these that have it; its further keywords are those that
 * tell most within the group. The same texts give the same topics, whatever their order.
 */
export function topicsOf(texts: readonly Text[]): Topic[] {
  const written = texts
    .map(({ id, author, body }) => ({ id, author, words: wordsOf(body) }))
    .sort((one, other) => (one.id < other.id ? -1 : 1))
  const asWritten = commonForms(written.flatMap(({ words }) => words))
  const documents = written.map(
    ({ id, author, words }): Counted => ({
      ...{ id, author, counts: countsOf(words.map(({ plain }) => plain)) },
    }),
  )
  const authors = new Map<string, Set<string>>()
  const frequency = new Map<string, number>()
  for (const { author, counts } of documents)
    for (const word of counts.keys()) {
      frequency.set(word, (frequency.get(word) ?? 0) + 1)
      const known = authors.get(word) ?? new Set<string>()
      authors.set(word, known.add(author))
    }
  const idf = (word: string) => Math.log(1 + documents.length / (frequency.get(word) ?? 1))
  const isShared = (word: string) => (authors.get(word)?.size ?? 0) >= LEAST_AUTHORS
  const topics: Topic[] = []
  let left = documents
  while (topics.length < MOST_TOPICS) {
    const first = ranked(left, idf, isShared).find((word) => isSaidBy(left, word))
    if (first === undefined) break
    const about = left.filter(({ counts }) => counts.has(first))
    const others = ranked(about, idf, (word) => word !== first && isShared(word))
    topics.push({
      key: first,
      keywords: [first, ...others.slice(0, MOST_KEYWORDS - 1)].map((plain) => asWritten.get(plain) ?? plain),
      messages: about.map(({ id }) => id),
    })
    left = left.filter(({ counts }) => !counts.has(first))
  }
  return topics
}

interface Counted {
  id: string
  author: string
  /** How often each word occurs. */
  counts: ReadonlyMap<string, number>
}

function countsOf(words: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1)
  return counts
}

/** The form that each plain one is written in most often. */
function commonForms(words: readonly { word: string; plain: string }[]): Map<string, string> {
  const counts = countsOf(words.map(({ word }) => word))
  const ordered = words.toSorted(
    (one, other) =>
      (counts.get(one.word) ?? 0) - (counts.get(other.word) ?? 0) || (one.word < other.word ? 1 : -1),
  )
  return new Map(ordered.map(({ word, plain }) => [plain, word]))
}

function isSaidBy(documents: readonly Counted[], word: string): boolean {
  const said = new Set<string>()
  return documents.some(({ author, counts }) => counts.has(word) && said.add(author).size >= LEAST_AUTHORS)
}

/** The words of documents by their tf-idf in all of them, the greatest first; a message of many words weighs no more. */
function ranked(
  documents: readonly Counted[],
  idf: (word: string) => number,
  isWanted: (word: string) => boolean,
): string[] {
  const weights = new Map<string, number>()
  for (const { counts } of documents) {
    const length = [...counts.values()].reduce((sum, count) => sum + count, 0)
    for (const [word, count] of counts) weights.set(word, (weights.get(word) ?? 0) + count / length)
  }
  return [...weights]
    .map(([word, tf]): [string, number] => [word, tf * idf(word)])
    .sort(([one, a], [other, b]) => b - a || (one < other ? -1 : 1))
    .map(([word]) => word)
    .filter(isWanted)
}
