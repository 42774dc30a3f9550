/** Words that end messages when they are all that somebody writes, as carriers and laws know them. */
const STOP: ReadonlySet<string> = new Set([
  'stop',
  'stopall',
  'stop all',
  'unsubscribe',
  'cancel',
  'end',
  'quit',
  'revoke',
  'optout',
  'opt out',
  'opt-out',
  'remove me',
  'stop please',
  'please stop',
  'stopp',
  'arret',
  'arrêt',
  'baja',
])
/** Words with which somebody who ended them asks for messages again. */
const START: ReadonlySet<string> = new Set(['start', 'unstop', 'subscribe'])

/** What a message that came in asks for: no more messages, messages again, or neither. */
export function wishOf(text: string): 'stop' | 'start' | null {
  const words = text
    .normalize('NFC')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s-]/gu, ' ')
    .replace(/\s+/g, ' ')
    .trim()
  if (STOP.has(words)) return 'stop'
  return START.has(words) ? 'start' : null
}
