/** The letters and figures of a text: without case, accents, signs that are not seen, and widths of letters. */
const lettersOf = (text: string): string =>
  text
    .normalize('NFKD')
    .replace(/[\p{M}\p{Cf}]/gu, '')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s-]/gu, ' ')
    .replace(/\s+/g, ' ')
    .trim()

/** Words that end messages when they are all that somebody writes, as carriers and laws know them. */
const STOP: ReadonlySet<string> = new Set(
  `
    stop, stopall, stop all, unsubscribe, cancel, end, quit, revoke, optout, opt out, opt-out, remove me, stop please,
    please stop, stopp, arrêt, baja, alto, parar, cancelar, sair, iptal, ret, td,
    стоп, הסר, توقف, 停止, 配信停止, 退订, 退訂, 수신거부, ยกเลิก
  `
    .split(',')
    .map(lettersOf),
)
/** Words with which somebody who ended them asks for messages again. */
const START: ReadonlySet<string> = new Set(['start', 'unstop', 'subscribe'])

/** What a message that came in asks for: no more messages, messages again, or neither. */
export function wishOf(text: string): 'stop' | 'start' | null {
  const words = lettersOf(text)
  if (STOP.has(words)) return 'stop'
  return START.has(words) ? 'start' : null
}
