/** A text between variables, or a variable with what is said where it is missing. */
export type Piece = { text: string } | { variable: string; fallback: string }

/** Linear: with the spaces around a name of their own, they could be divided in many ways, which takes seconds. */
export const TOKEN = /\{\{([^{}|]*)(?:\|([^{}]*))?\}\}/g

/** The pieces of a template `Hi {{contact.first_name|there}}`. Anything but a whole token is text. */
export function piecesOf(template: string): Piece[] {
  const pieces: Piece[] = []
  let from = 0
  for (const { 0: token, 1: variable = '', 2: fallback = '', index } of template.matchAll(TOKEN)) {
    if (index > from) pieces.push({ text: template.slice(from, index) })
    pieces.push({ variable: variable.trim(), fallback: fallback.trim() })
    from = index + token.length
  }
  if (from < template.length) pieces.push({ text: template.slice(from) })
  return pieces
}

/** A template whose variables are each on one line, as long as before. */
export const onOneLine = (template: string): string =>
  template.replace(TOKEN, (token) => token.replace(/[\r\n]/g, ' '))

/** Names of the variables of a template, each once. */
export const variablesIn = (template: string): string[] => [
  ...new Set(piecesOf(template).flatMap((piece) => ('variable' in piece ? [piece.variable] : []))),
]

/** Values by the name of their variable; what is missing or null takes the fallback. */
export type Values = Readonly<Record<string, string | null | undefined>>

/** Of a value of the data, which may be anything. */
const LONGEST_VALUE = 200

/** A template with its values. */
export const render = (template: string, values: Values): string =>
  piecesOf(template)
    .map((piece) => ('text' in piece ? piece.text : said(values[piece.variable]) || piece.fallback))
    .join('')

/** On one line and not endless, whatever the data says. */
export const said = (value: string | null | undefined): string =>
  [...(value ?? '').replace(/[\s\p{Cc}]+/gu, ' ').trim()].slice(0, LONGEST_VALUE).join('')
