import { phoneOf } from './channel.ts'

/** Times that a text within a text is decoded: an address within a link within a link. */
const LAYERS = 3
/** As `phoneOf` reads them: of each script the zero is at a multiple of 16. */
const DIGIT = '[0-9\\uff10-\\uff19\\u0660-\\u0669\\u06f0-\\u06f9]'
const DIGITS = new RegExp(DIGIT, 'g')
/** Digits with what people write between those of a phone number. */
const RUN = new RegExp(
  `[+\\uff0b]?${DIGIT}(?:[\\s\\p{Zs}\\p{Pd}\\p{Cf}()+\\uff0b\\[\\]./~]{0,5}${DIGIT})+`,
  'gu',
)
const START = new RegExp(`[+\\uff0b]|(?<!${DIGIT})${DIGIT}`, 'g')
/** Longer than any number with what is between its digits; what is before it is another number. */
const LONGEST_NUMBER = 60
/** Digits at the end of a phone number that spellings of it share. */
const TAIL = 6

/** Whether a text has one of some addresses or numbers anywhere in it, also percent-encoded or escaped. */
export function mentionsOf(
  emails: readonly string[],
  phones: readonly string[],
  region: string,
): (text: string) => boolean {
  const byMiddle = Map.groupBy(emails, (email) => middleOf(email, email.indexOf('@')))
  const known = new Set(phones)
  const tails = new Set(phones.map((phone) => phone.slice(-TAIL)))

  const hasEmail = (text: string): boolean => {
    if (emails.length === 0) return false
    const lower = text.toLowerCase()
    for (let at = lower.indexOf('@'); at !== -1; at = lower.indexOf('@', at + 1))
      if (byMiddle.get(middleOf(lower, at))?.some((email) => isAt(lower, at - email.indexOf('@'), email)))
        return true
    return false
  }
  const hasPhone = (text: string): boolean => {
    if (tails.size === 0) return false
    for (const { 0: run } of text.matchAll(RUN)) {
      const digits = [...run.matchAll(DIGITS)]
      const plain = digits.map(([digit]) => digit.charCodeAt(0) % 16).join('')
      for (let end = TAIL; end <= plain.length; end++) {
        if (!tails.has(plain.slice(end - TAIL, end))) continue
        if (isNumber(run, (digits[end - 1]?.index ?? 0) + 1)) return true
      }
    }
    return false
  }
  /** Whether a number of theirs ends at a place of a run. */
  const isNumber = (run: string, end: number): boolean => {
    const text = run.slice(Math.max(0, end - LONGEST_NUMBER), end)
    return [...text.matchAll(START)].some(({ index }) => known.has(phoneOf(text.slice(index), region) ?? ''))
  }
  return (text) => {
    let read = text
    for (let layer = 0; ; layer++) {
      if (hasEmail(read) || hasPhone(read)) return true
      const decoded = layer < LAYERS ? unescaped(read) : read
      if (decoded === read) return false
      read = decoded
    }
  }
}

const middleOf = (text: string, at: number) => text.slice(at - 1, at + 2)

/** Not as the end of a longer address, nor the beginning of one. */
const isAt = (text: string, start: number, email: string) =>
  text.startsWith(email, start) &&
  !/[\p{L}\p{N}][.+-]*$/u.test(text.slice(Math.max(0, start - 4), start)) &&
  !/^(\p{L}|\p{N}|[.-]+[\p{L}\p{N}])/u.test(text.slice(start + email.length, start + email.length + 4))

/** Without one layer of percent-encoding, and of escapes of JSON. */
function unescaped(text: string): string {
  const said = text.includes('%') ? text.replace(/(?:%[0-9a-f]{2})+/gi, percentDecoded) : text
  if (!said.includes('\\')) return said
  return said.replace(/\\(?:u([0-9a-f]{4})|.)/gis, (_, code?: string) =>
    code === undefined ? ' ' : String.fromCharCode(Number.parseInt(code, 16)),
  )
}

function percentDecoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return Buffer.from(text.replaceAll('%', ''), 'hex').toString('latin1')
  }
}
