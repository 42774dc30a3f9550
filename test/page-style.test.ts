import t from 'tap'
import { STYLE } from '../src/http/sign-in/style.ts'

/** Relative luminance of a color such as #fff (WCAG 2). */
function luminance(color: string): number {
  const digits = color.length === 4 ? [...color.slice(1)].map((one) => one + one) : color.match(/[\da-f]{2}/g)
  const [red = 0, green = 0, blue = 0] = (digits ?? [])
    .map((two) => Number.parseInt(two, 16) / 255)
    .map((value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4))
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}

function contrast(one: string, other: string): number {
  const [dark = 0, light = 0] = [luminance(one), luminance(other)].sort((a, b) => a - b)
  return (light + 0.05) / (dark + 0.05)
}

t.test('the borders of fields stand out by light and in the dark', async (t) => {
  const [light = '', dark = ''] = STYLE.split('@media (prefers-color-scheme: dark)')
  const [, border = ''] =
    /input\[type=password\] \{[^}]*border: 1px solid var\(--([a-z]+)\)/.exec(STYLE) ?? []
  for (const [theme, style] of Object.entries({ light, dark })) {
    const colorOf = (name: string) => new RegExp(`--${name}: (#[\\da-f]+)`).exec(style)?.[1] ?? ''
    t.ok(contrast(colorOf(border), colorOf('card')) >= 3, theme)
  }
})
