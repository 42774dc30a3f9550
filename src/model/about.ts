import type { Model } from './graph.ts'

/**
 * The rows of a staging model that come from events of these subjects, as a SELECT: the events are found before anything
 * is joined or grouped, which the model's view cannot know to be enough.
 */
export function aboutSubjects(models: readonly Model[], name: string, subjects: readonly number[]): string {
  const named = new Map(models.map((model) => [model.name, model]))
  const needed: Model[] = []
  const need = (model: Model) => {
    for (const read of model.reads) {
      const upstream = named.get(read)
      if (upstream) need(upstream)
    }
    if (!needed.includes(model)) needed.push(model)
  }
  const model = named.get(name)
  if (!model) throw new Error(`there is no model ${name}`)
  need(model)
  const theirs = `events as (from events where subject in (${subjects.map(Math.trunc).join(', ') || 'null'}))`
  const parts = needed.map(({ name: part, sql }) => `${part} as (\n${sql}\n)`)
  return `with ${[theirs, ...parts].join(',\n')}\nfrom ${name}`
}
