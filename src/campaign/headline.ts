const HEADLINE = /^Subject:[ \t]*(\S[^\r\n]*)(?:\r?\n)+/

/** An email's subject, when its first line says so, and its text. */
export function emailOf(text: string): { headline: string | null; body: string } {
  const found = HEADLINE.exec(text)
  if (!found) return { headline: null, body: text }
  return { headline: found[1]?.trim() ?? null, body: text.slice(found[0].length) }
}
