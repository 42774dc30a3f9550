import type { Session } from '../lake/session.ts'
import { areOfSales, dayTurned, productsChanged, timeTold } from './moved.ts'
import { startOf } from './part.ts'
import type { Publication } from './publish.ts'
import type { Way } from './way.ts'

/** Whether members and results are as they were: then there is no new generation. */
export async function isUnchanged(
  session: Session,
  { brand, parts, recipe, models, members }: Publication,
  way: Way,
): Promise<boolean> {
  const made = startOf(brand, parts, [])
  if (members.changes > 0 || !made || !brand.no_erasure_since) return false
  if (!way.whole || way.carries) {
    if (way.touched > 0 || (await dayTurned(session, made.from))) return false
    if (!parts.has('models')) return true
    if (!areOfSales(models) && session.manifest.changedTick > brand.models_tick) return false
    return !(await productsChanged(session, brand.models_tick))
  }
  const same = brand.recipe === recipe && session.manifest.changedTick <= Math.min(...made.ticks)
  return same && !(await timeTold(session, made.from))
}
