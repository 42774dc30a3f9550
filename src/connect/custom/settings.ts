import { fail } from '../../errors.ts'
import { isObject } from '../../event/exact.ts'

export type Settings = Record<string, unknown>

const MAX_BYTES = 65_536

/**
 * Settings with a change in them: objects are merged level by level, so that what is not named stays; lists and values
 * are replaced; null removes. The `type_matchers` of `request_mapping` stay unless the change names them: null for
 * the whole of it takes all the rest.
 */
export function changedSettings(settings: Settings, change: Settings): Settings {
  const { request_mapping: before } = settings
  if (change.request_mapping !== null || !isObject(before) || before.type_matchers === undefined)
    return mergedSettings(settings, change)
  return { ...mergedSettings(settings, change), request_mapping: { type_matchers: before.type_matchers } }
}

function mergedSettings(settings: Settings, change: Settings): Settings {
  const merged = new Map(Object.entries(settings))
  for (const [name, value] of Object.entries(change)) {
    const before = merged.get(name)
    if (value === null) merged.delete(name)
    else if (isObject(value)) merged.set(name, mergedSettings(isObject(before) ? before : {}, value))
    else merged.set(name, value)
  }
  return Object.fromEntries(merged)
}

/** Settings whose `type_matchers` name an event type by its new name. */
export function renamedSettings(settings: Settings, from: string, to: string): Settings {
  const { request_mapping: mapping } = settings
  if (!isObject(mapping) || mapping.type_matchers === undefined) return settings
  const type_matchers = renamedMatchers(mapping.type_matchers, from, to)
  return { ...settings, request_mapping: { ...mapping, type_matchers } }
}

/** Matchers, or an object of the sender's words with what each is called here. */
function renamedMatchers(matchers: unknown, from: string, to: string): unknown {
  const renamed = renamedMatcher(matchers, from, to)
  if (!isObject(renamed) || typeof renamed.type === 'string') return renamed
  return Object.fromEntries(Object.entries(renamed).map(([word, type]) => [word, type === from ? to : type]))
}

/** The outermost `type` of a matcher names its event type; what stands beside or below it are words of the sender. */
function renamedMatcher(matcher: unknown, from: string, to: string): unknown {
  if (Array.isArray(matcher)) return matcher.map((one) => renamedMatcher(one, from, to))
  if (!isObject(matcher)) return matcher
  if (typeof matcher.type === 'string') return matcher.type === from ? { ...matcher, type: to } : matcher
  return Object.fromEntries(
    Object.entries(matcher).map(([name, value]) => [name, renamedMatcher(value, from, to)]),
  )
}

/** Throws `bad_request` for a change that no settings can take. */
export function checkChange({ request_mapping: mapping = null }: Settings): void {
  if (mapping !== null) checkMapping(mapping)
}

function checkMapping(mapping: unknown): void {
  if (!isObject(mapping)) throw fail('bad_request', 'settings.request_mapping must be an object')
}

/** Throws `bad_request` for settings that cannot be. */
export function checkSettings(settings: Settings): void {
  if (Object.hasOwn(settings, 'request_mapping')) checkMapping(settings.request_mapping)
  if (Buffer.byteLength(JSON.stringify(settings)) > MAX_BYTES)
    throw fail('bad_request', `settings must be at most ${MAX_BYTES / 1024} KB`)
}
