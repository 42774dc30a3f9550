import { lettersOf } from './letters.ts'

/**
 * What words may say: the places of a text to which it leads from any of these. Each place is gone on from once, however
 * many ways lead there, so that no text takes long.
 */
export type Pattern = (words: readonly string[], from: ReadonlySet<number>) => ReadonlySet<number>

/** One of phrases that commas part. */
export function oneOf(given: string): Pattern {
  const phrases = new Set(given.split(',').map(lettersOf))
  const lengths = [...new Set([...phrases].map((phrase) => phrase.split(' ').length))]
  return (words, from) =>
    new Set(
      [...from].flatMap((at) =>
        lengths
          .map((length) => at + length)
          .filter((end) => end <= words.length && phrases.has(words.slice(at, end).join(' '))),
      ),
    )
}

export const either =
  (...patterns: Pattern[]): Pattern =>
  (words, from) =>
    new Set(patterns.flatMap((pattern) => [...pattern(words, from)]))

/** One behind the other. */
export const inTurn =
  (...patterns: Pattern[]): Pattern =>
  (words, from) =>
    patterns.reduce((places, pattern) => pattern(words, places), from)

/** However often, also not at all. */
export const repeated =
  (pattern: Pattern): Pattern =>
  (words, from) => {
    const reached = new Set(from)
    for (let next = from; next.size > 0; ) {
      next = new Set([...pattern(words, next)].filter((place) => !reached.has(place)))
      for (const place of next) reached.add(place)
    }
    return reached
  }

/** Whether it is all that the words say. */
export const isAll = (pattern: Pattern, words: readonly string[]): boolean =>
  pattern(words, new Set([0])).has(words.length)
