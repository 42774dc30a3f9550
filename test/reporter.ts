import { relative } from 'node:path'
import type { EventData } from 'node:test'
import { spec } from 'node:test/reporters'

interface Event {
  type: string
  data: EventData.TestFail & EventData.TestDiagnostic & EventData.TestComplete
}

/**
 * A line for each file as it ends, then what failed, with its seed, and how many passed: tens of thousands of assertions
 * are no lines of their own.
 */
export default async function* report(events: AsyncIterable<Event>): AsyncGenerator<string> {
  const told = new spec()
  const begun = new Map<string, number>()
  const seeds: Event[] = []
  const failed = new Set<string | undefined>()
  for await (const event of events) {
    const { type, data } = event
    const isFile = data.nesting === 0 && data.line === 1 && data.column === 1
    if (type === 'test:dequeue' && isFile) begun.set(data.name, performance.now())
    else if (type === 'test:complete' && isFile) yield lineOf(data, begun.get(data.name) ?? 0)
    else if (type === 'test:fail') {
      failed.add(data.file)
      told.write(event)
    } else if (type === 'test:diagnostic' && data.file) seeds.push(event)
    else if (type === 'test:diagnostic' || type === 'test:stderr') told.write(event)
  }
  for (const seed of seeds) if (failed.has(seed.data.file)) told.write(seed)
  told.end()
  for await (const text of told) yield String(text)
}

function lineOf({ name, details: { passed } }: EventData.TestComplete, began: number): string {
  const seconds = ((performance.now() - began) / 1000).toFixed(1)
  return `${passed ? '✔' : '✖'} ${relative('', name)} (${seconds} s)\n`
}
