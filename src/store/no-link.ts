import { errorCode } from '../errors.ts'

const NO_LINK: ReadonlySet<string | undefined> = new Set([
  'EPERM',
  'ENOTSUP',
  'EOPNOTSUPP',
  'ENOSYS',
  'EMLINK',
])

/** What a file system says that has no links, or no more of a file. */
export const hasNoLink = (error: unknown): boolean => NO_LINK.has(errorCode(error))
