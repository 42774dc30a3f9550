/** How many of each list within its records a query asks for, by its path such as `refunds.transactions`. */
export type Asked = ReadonlyMap<string, number>

const FIELD = /(\w+)(?:\(([^()]*)\))?\s*\{|\}/g
/** The query itself and its page. */
const AROUND = 2

export function askedIn(query: string): Asked {
  const asked = new Map<string, number>()
  const path: string[] = []
  for (const [text, name = '', given = ''] of query.matchAll(FIELD)) {
    if (text === '}') path.pop()
    else path.push(name)
    const first = /\bfirst: (\d+)/.exec(given)?.[1]
    const within = path.slice(AROUND).filter((step) => step !== 'nodes')
    if (first) asked.set(within.join('.'), Number(first))
  }
  return asked
}
