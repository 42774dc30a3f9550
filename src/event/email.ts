const EMAIL = /^[^\s@]+@[^\s@]+$/
const LONGEST_EMAIL = 320

/** An email address trimmed and in lower case; undefined for a text that is none ("n/a" must not join people). */
export function emailOf(text: string): string | undefined {
  const email = text.trim().toLowerCase()
  return email.length <= LONGEST_EMAIL && EMAIL.test(email) ? email : undefined
}
