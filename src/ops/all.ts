import type { Op } from '../op.ts'
import { brandOps } from './brand.ts'
import { segmentOps } from './segments.ts'

/** Every operation of the service. */
export const OPS: readonly Op[] = [...brandOps, ...segmentOps]
