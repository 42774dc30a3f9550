import { readdirSync, readFileSync } from 'node:fs'
import { fail } from '../../errors.ts'
import type { NewDefinition } from './definitions.ts'

/** A kind of source that is ready to be used: what its events are called and how they look. One file of templates/. */
export interface SourceTemplate {
  key: string
  name: string
  description: string
  event_definitions: readonly NewDefinition[]
}

const FOLDER = new URL('./templates/', import.meta.url)

let templates: ReadonlyMap<string, SourceTemplate> | undefined

/** All templates by their key, which is the name of their file. */
export function sourceTemplates(): ReadonlyMap<string, SourceTemplate> {
  templates ??= new Map(
    readdirSync(FOLDER)
      .sort()
      .map((file) => {
        const key = file.replace(/\.json$/, '')
        return [key, { key, ...JSON.parse(readFileSync(new URL(file, FOLDER), 'utf8')) }]
      }),
  )
  return templates
}

/** Throws `bad_request` that names the known ones. */
export function templateOf(key: string): SourceTemplate {
  const template = sourceTemplates().get(key)
  if (template) return template
  const known = [...sourceTemplates().keys()].join(', ')
  throw fail('bad_request', `source_template_key: "${key}" is not a template. Known: ${known}`)
}
