import { member, refusal } from './complaint.ts'

/** Names of which tenant something is: the credential alone says that. */
const TENANCY = ['scope', 'shopdomain']
const TENANCY_REFUSED = 'cannot be used in conditions: the credential decides whose data is looked at'

export function refuseTenancy(json: unknown, path: string): void {
  if (typeof json !== 'object' || json === null) return
  const name = Object.keys(json).find((key) => TENANCY.includes(key.toLowerCase()))
  if (name !== undefined) throw refusal(member(path, name), TENANCY_REFUSED)
}

/** `source.scope` and `scope.keyword` are no better than `scope`. */
export const isTenantProperty = (name: string): boolean =>
  name
    .toLowerCase()
    .split('.')
    .some((part) => TENANCY.includes(part))

export function refuseTenantProperty(name: string, path: string): void {
  if (isTenantProperty(name)) throw refusal(path, TENANCY_REFUSED)
}
