/** Lines from which on a message is no more its writer's: signatures of devices, and messages that it answers. */
const BELOW: readonly RegExp[] = [
  /^--[ \t]*$/m,
  /^[_-]{5,}/m,
  /^(sent from|sent via|get outlook|von meinem|gesendet (von|mit)|envoy[eé] (de|depuis)|enviado (desde|do|de)|inviato da|verzonden (vanaf|met))\s/im,
  /^(from|von|de|da|van): .*@/im,
  // Such as "On Sat, 28 Nov 2026 at 10:00, Lumen wrote:", which may be broken in two.
  /^(on|am|le|el|il|em|op|den)\s[^\n]*\d[^\n]*(\n[^\n]+)?:[ \t]*$/im,
]

/** So far a wish is looked for: patterns take their time over long lines. */
const LONGEST = 1_000

/** What somebody wrote at first, without a signature and without what they answer; of a text that has nothing else, all. */
export function ownWords(text: string): string {
  const lines = text
    .replaceAll('\r', '')
    .replace(/^[ \t]*>.*$/gm, '')
    .trimStart()
    .slice(0, LONGEST)
  const ends = BELOW.map((line) => lines.search(line)).filter((at) => at >= 0)
  return lines.slice(0, Math.min(...ends, lines.length)).trim() || text
}
