import { onOneLine } from './template.ts'

/** What a message says, or the templates of that; an sms has no headline. */
export interface Text {
  headline: string | null
  body: string
}

const HEADLINE = /^Subject:[ \t]*(\S[^\r\n]*)(?:\r?\n)+/

/** The templates of an email: of its subject, when the first line says so, and of its text. */
export function emailOf(template: string): Text {
  const found = HEADLINE.exec(onOneLine(template))
  if (!found) return { headline: null, body: template }
  return { headline: found[1]?.trim() ?? null, body: template.slice(found[0].length) }
}
