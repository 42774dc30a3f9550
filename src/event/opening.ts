import { BYTES, spaces } from './scan.ts'

const EVENTS = Buffer.from('"events"')
const SOURCE = Buffer.from('"source"')
const SCOPE = Buffer.from('"scope"')

/** The place of the first event after `{"events":[` or `{"source":{"scope":"…"},"events":[`. */
export function openingOf(body: Uint8Array, scope: Buffer | undefined): number {
  let at = spaces(body, 0)
  if (body[at] !== BYTES.openObject) return -1
  at = spaces(body, at + 1)
  if (scope) at = afterSource(body, at, scope)
  if (at < 0) return -1
  at = afterName(body, at, EVENTS)
  return at >= 0 && body[at] === BYTES.openArray ? spaces(body, at + 1) : -1
}

/** The place after `"source":{"scope":"…"},`. */
function afterSource(body: Uint8Array, at: number, scope: Buffer): number {
  let next = afterName(body, at, SOURCE)
  if (next < 0 || body[next] !== BYTES.openObject) return -1
  next = afterName(body, spaces(body, next + 1), SCOPE)
  if (next < 0 || !isWord(body, next, scope)) return -1
  next = spaces(body, next + scope.length)
  if (body[next] !== BYTES.closeObject) return -1
  next = spaces(body, next + 1)
  return body[next] === BYTES.comma ? spaces(body, next + 1) : -1
}

/** The place of the value whose name, in quotes, stands here. */
function afterName(body: Uint8Array, at: number, quoted: Uint8Array): number {
  if (!isWord(body, at, quoted)) return -1
  const next = spaces(body, at + quoted.length)
  return body[next] === BYTES.colon ? spaces(body, next + 1) : -1
}

/** Whether these bytes stand here. */
export function isWord(body: Uint8Array, at: number, word: Uint8Array): boolean {
  for (let index = 0; index < word.length; index++) if (body[at + index] !== word[index]) return false
  return true
}
