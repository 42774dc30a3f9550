import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { CHECKOUT } from '../config.ts'
import { fail } from '../errors.ts'
import { type Command, command } from './command.ts'

/** `all`: every command of the program, which this one documents. */
export const docsCommands = (all: () => readonly Command[]) => [
  command({
    name: 'docs',
    what: 'Write the generated parts of the documentation anew',
    options: { check: { type: 'boolean', what: 'Change nothing; fail when a part is out of date' } },
    run: async ({ values }) => {
      // No other command needs what is documented: every operation, and all of the HTTP side.
      const { generatedTexts, textOf } = await import('./generated.ts')
      const stale = Object.entries(await generatedTexts(all())).filter(
        ([file, text]) => textOf(file) !== text,
      )
      const names = stale.map(([file]) => file)
      if (values.check && stale.length)
        throw fail('conflict', `Out of date: ${names.join(', ')}. Run recoup docs.`)
      for (const [file, text] of stale) {
        mkdirSync(dirname(join(CHECKOUT, file)), { recursive: true })
        writeFileSync(join(CHECKOUT, file), text)
      }
      return { written: names }
    },
    text: ({ written }) => (written.length ? `Wrote ${written.join(', ')}` : 'All generated text is fresh.'),
  }),
]
