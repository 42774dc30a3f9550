/**
 * Rewrites a pattern of JSON Schema (a regular expression of ECMA-262 in Unicode mode) in RE2's dialect, and says how
 * much work it is: about the instructions that it becomes, counted before anything is built of it.
 */
export type Translated = { source: string; size: number } | { problem: string }

const MAX_PATTERN = 512
/** `\p{L}` becomes hundreds of ranges. */
const UNICODE_SIZE = 10

const SPACES =
  '\\t-\\r \\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}\\x{205f}\\x{3000}\\x{feff}'
const NO_SPACES =
  '\\x00-\\x08\\x0e-\\x1f!-\\x{9f}\\x{a1}-\\x{167f}\\x{1681}-\\x{1fff}\\x{200b}-\\x{2027}\\x{202a}-\\x{202e}\\x{2030}-\\x{205e}\\x{2060}-\\x{2fff}\\x{3001}-\\x{fefe}\\x{ff00}-\\x{10ffff}'
const ANY = '[^\\n\\r\\x{2028}\\x{2029}]'
const SYNTAX = '^$\\.*+?()[]{}|/'
const CONTROL = /^c([A-Za-z])/
const HEX = /^(?:x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|u\{0*([0-9A-Fa-f]{1,6})\})/
const LOW_HALF = /^\\u(d[c-f][0-9a-f]{2})/i
const PROPERTY = /^[pP]\{(?:(?:General_Category|gc|Script|sc)=)?([A-Za-z_]{1,40})\}/
const QUANTIFIER = /^(?:[*+?]|\{(\d{1,4})(,(\d{1,4})?)?\})\??/
const GROUP = /^\((?:\?(?:(:)|<([A-Za-z_][0-9A-Za-z_]{0,40})>|(.{0,2})))?/su

/** Long names of general categories, which RE2 knows by the short ones. */
const CATEGORIES: Record<string, string> = {
  Letter: 'L',
  Uppercase_Letter: 'Lu',
  Lowercase_Letter: 'Ll',
  Mark: 'M',
  Number: 'N',
  Decimal_Number: 'Nd',
  digit: 'Nd',
  Punctuation: 'P',
  punct: 'P',
  Symbol: 'S',
  Separator: 'Z',
}

class Unfit extends Error {}

export function translate(pattern: string): Translated {
  if (pattern.length > MAX_PATTERN) return { problem: `must be at most ${MAX_PATTERN} characters` }
  try {
    return new Translation(pattern).whole()
  } catch (error) {
    if (error instanceof Unfit) return { problem: error.message }
    throw error
  }
}

class Translation {
  readonly #text: string
  #at = 0
  #source = ''
  /** Sizes of the open groups, the whole being the first, each with that of its newest part. */
  readonly #open = [{ size: 1, newest: 0 }]

  constructor(text: string) {
    this.#text = text
  }

  whole(): Translated {
    while (this.#at < this.#text.length) this.#part()
    if (this.#open.length > 1) throw new Unfit('has a group that is not closed')
    return { source: this.#source, size: this.#group.size + this.#group.newest }
  }

  get #group() {
    return this.#open.at(-1) as { size: number; newest: number }
  }

  #add(source: string, size = 1): void {
    const group = this.#group
    group.size += group.newest
    group.newest = size
    this.#source += source
  }

  #take(pattern: RegExp): RegExpExecArray | null {
    const found = pattern.exec(this.#text.slice(this.#at, this.#at + 64))
    if (found) this.#at += found[0].length
    return found
  }

  #part(): void {
    const character = String.fromCodePoint(this.#text.codePointAt(this.#at) as number)
    const quantifier = this.#take(QUANTIFIER)
    if (quantifier) {
      this.#repeat(quantifier)
      return
    }
    if (character === '(') {
      this.#enter()
      return
    }
    this.#at += character.length
    if (character === '[') this.#class()
    else if (character === ')') this.#leave()
    else if (character === '\\') this.#add(...this.#escape(false))
    else if (character === '.') this.#add(ANY)
    else if (character === '{' || character === '}' || character === ']') this.#add(`\\${character}`)
    else this.#add(character)
  }

  #repeat([whole, least, comma, most]: RegExpExecArray): void {
    const group = this.#group
    if (group.newest === 0) throw new Unfit('repeats nothing')
    const times = least === undefined ? 1 : Number(comma ? (most ?? Number(least) + 1) : least)
    group.newest = group.newest * Math.max(times, 1) * (comma ? 2 : 1) + 1
    this.#source += whole
    // What was repeated cannot be repeated again without a group.
    group.size += group.newest
    group.newest = 0
  }

  #enter(): void {
    const [, , , other] = this.#take(GROUP) as RegExpExecArray
    if (other !== undefined)
      throw new Unfit(
        /^<?[=!]/.test(other)
          ? 'must not look ahead or behind: such patterns cannot be matched in linear time'
          : 'has a group of an unknown kind',
      )
    this.#source += '(?:'
    this.#open.push({ size: 0, newest: 0 })
  }

  #leave(): void {
    const group = this.#open.pop()
    if (!group || this.#open.length === 0) throw new Unfit('closes a group that is not open')
    this.#add(')', group.size + group.newest + 2)
  }

  /** What follows a backslash. */
  #escape(isInClass: boolean): [source: string, size: number] {
    const hex = this.#take(HEX)
    if (hex) return [`\\x{${this.#codePoint(hex)}}`, 1]
    const control = this.#take(CONTROL)
    if (control) return [`\\x{${((control[1] as string).charCodeAt(0) % 32).toString(16)}}`, 1]
    const property = this.#take(PROPERTY)
    if (property) {
      const name = property[1] as string
      return [
        `\\${property[0][0]}{${Object.hasOwn(CATEGORIES, name) ? CATEGORIES[name] : name}}`,
        UNICODE_SIZE,
      ]
    }
    const character = this.#text[this.#at] ?? ''
    this.#at++
    if (character === 's' || character === 'S') {
      const ranges = character === 's' ? SPACES : NO_SPACES
      return [isInClass ? ranges : `[${ranges}]`, 1]
    }
    if (/[dDwW]/.test(character) || (/[bB]/.test(character) && !isInClass)) return [`\\${character}`, 1]
    if (character === 'b') return ['\\x08', 1]
    if (character === '0' && !/\d/.test(this.#text[this.#at] ?? '')) return ['\\x00', 1]
    if (/[fnrtv]/.test(character)) return [`\\${character}`, 1]
    if (character !== '' && (SYNTAX.includes(character) || character === '-')) return [`\\${character}`, 1]
    if (/[1-9k]/.test(character))
      throw new Unfit('must not refer back to a group: such patterns cannot be matched in linear time')
    throw new Unfit(`has an escape that is not known: \\${character}`)
  }

  #codePoint([, byte, unit, point]: RegExpExecArray): string {
    const number = Number.parseInt(byte ?? unit ?? point ?? '', 16)
    if (unit !== undefined && number >= 0xd800 && number <= 0xdbff) {
      const low = this.#take(LOW_HALF)
      if (low)
        return (
          String.fromCharCode(number, Number.parseInt(low[1] as string, 16))
            .codePointAt(0)
            ?.toString(16) ?? ''
        )
    }
    return number.toString(16)
  }

  #class(): void {
    const isNegated = this.#text[this.#at] === '^'
    if (isNegated) this.#at++
    let content = ''
    let size = 1
    for (;;) {
      const point = this.#text.codePointAt(this.#at)
      if (point === undefined) throw new Unfit('has a class that is not closed')
      const character = String.fromCodePoint(point)
      this.#at += character.length
      if (character === ']') break
      if (character === '\\') {
        const [source, more] = this.#escape(true)
        content += source
        size += more
      } else content += '[^&'.includes(character) ? `\\${character}` : character
    }
    if (content === '') this.#add(isNegated ? '(?s:.)' : '[^\\x00-\\x{10ffff}]')
    else this.#add(`[${isNegated ? '^' : ''}${content}]`, size)
  }
}
