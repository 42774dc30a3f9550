/** Under what its writer said: signatures of devices and of people, and messages that are answered. */
const BELOW: readonly RegExp[] = [
  /^--$/,
  /^_{10,}$/,
  /^-{3,} ?(original|forwarded|ursprüngliche|weitergeleitete|message d.origine|mensaje original|messaggio originale|mensagem original|oorspronkelijk)/i,
  /^sent (from|via|using|with) (my|an?|the|mail|gmail|yahoo|aol|outlook|samsung|proton|spark)\b/i,
  /^(get|obtenir) outlook\b|^outlook für\b|^von meinem .*gesendet|^gesendet (von|mit)\b/i,
  /^envoy[eé] (de|depuis|à partir)\s|^enviado (desde|do|de)\b|^inviato da\b|^ver(zonden|stuurd) (vanaf|met|via)\b|^skickat från\s|^wysłano z\b/i,
]
/** The first lines of a message that is answered whole. */
const FROM = /^(from|von|de|da|van) ?:/i
const SENT = /^(sent|date|gesendet|datum|envoy[eé]|enviado|inviato|verzonden|data) ?:/i
/** Such as "On Sat, 28 Nov 2026 at 10:00, Lumen wrote:", which may be broken in three. */
const ATTRIBUTION = /^(on|am|le|el|il|em|op|den|w dniu|dnia|\d+[./-])\s?.*\d.*:$/i
const SAID =
  /@|(?<!\p{L})(wrote|schrieb|a [eé]crit|escribi[oó]|ha scritto|escreveu|schreef|skrev|napisał\p{L}*)(?!\p{L})/iu
const MOST_BROKEN = 3

/** So far a wish is looked for. */
const LONGEST = 1_000

/** What somebody wrote, without a signature and without what they answer; of a text that has nothing else, all. */
export function ownWords(text: string): string {
  const lines = text
    .replace(/^[ \t]*>.*$/gm, '')
    .trimStart()
    .slice(0, LONGEST)
    .split('\n')
    .map((line) => line.trim())
  const own: string[] = []
  for (let n = 0; n < lines.length; n++) {
    const [line = '', next = ''] = lines.slice(n, n + 2)
    if (BELOW.some((below) => below.test(line))) break
    if (FROM.test(line) && (line.includes('@') || SENT.test(next))) break
    const attribution = attributionOf(lines.slice(n, n + MOST_BROKEN))
    if (attribution > 0 && own.some((said) => said !== '')) break
    // Some answer below it.
    if (attribution > 0) n += attribution - 1
    else own.push(line)
  }
  return own.join('\n').trim() || text.slice(0, LONGEST)
}

/** How many of the lines say whose message follows. */
function attributionOf(lines: readonly string[]): number {
  for (let count = 1; count <= lines.length; count++) {
    const said = lines.slice(0, count).join(' ')
    if (said.endsWith(':')) return ATTRIBUTION.test(said) && SAID.test(said) ? count : 0
  }
  return 0
}
