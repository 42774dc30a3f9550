import { isOneOf } from '../lake/one-of.ts'
import { BY_SUBJECT } from '../lake/sources.ts'
import { type Model, upstreamOf } from './graph.ts'
import { over } from './over.ts'

/**
 * The rows of a staging model that come from rows of sources about these subjects, as a SELECT: those are found before
 * anything is joined or grouped, which the model's view cannot know to be enough.
 */
export function aboutSubjects(models: readonly Model[], name: string, subjects: readonly number[]): string {
  const sources = upstreamOf([name], models).flatMap(({ reads }) =>
    reads.filter((read) => BY_SUBJECT.has(read)),
  )
  const theirs = sources.map((source) => [source, `from ${source} where ${isOneOf(subjects, 'subject')}`])
  return over(models, name, Object.fromEntries(theirs))
}
