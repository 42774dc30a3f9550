import { type Model, upstreamOf } from './graph.ts'

/** A staging model over other rows of some of the relations that it is made of. */
export function over(models: readonly Model[], name: string, rows: Readonly<Record<string, string>>): string {
  const needed = upstreamOf([name], models)
  const model = needed.at(-1)
  if (model?.name !== name) throw new Error(`there is no model ${name}`)
  const parts = [
    ...Object.entries(rows),
    ...needed.slice(0, -1).flatMap((each) => (each.name in rows ? [] : [[each.name, `\n${each.sql}\n`]])),
  ]
  return `with ${parts.map(([part, text]) => `${part} as (${text})`).join(', ')} select * from (\n${model.sql}\n)`
}
