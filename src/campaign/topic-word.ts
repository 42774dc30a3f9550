import { STOP_WORDS } from './stop-word.ts'

const LEAST_LETTERS = 3
const MOST_LETTERS = 30

export interface Word {
  word: string
  /** The same for a word and its plural. */
  plain: string
}

/** The words of a text that can tell what it is about. */
export function wordsOf(body: string): Word[] {
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
