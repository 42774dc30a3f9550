import t from 'tap'
import { setLogLevel } from '../src/log.ts'
import { statement } from '../src/store/sqlfile.ts'
import { stateOf as everything } from './fixtures/rows.ts'
import { noting, replacing } from './fixtures/statements.ts'
import { CELLS, type Cell, tellingCells, world } from './fixtures/tenancy.ts'
import { unfiltered } from './fixtures/unfiltered.ts'

setLogLevel('error')

/** Of the calls that run a statement so many are asked: each by thrice as many filters would take minutes. */
const MOST_CELLS = 3

t.test(
  'an id of another brand tells nothing without a filter, but for a role that passes the wall',
  async (t) => {
    let here = await world(t)
    const { postgres } = here.db
    const reached = new Map<string, Set<Cell>>()
    for (const cell of CELLS) {
      const note = (name: string) => reached.set(name, (reached.get(name) ?? new Set()).add(cell))
      await tellingCells(t, here, [cell], {
        most: 1,
        open: (brandId) => noting(postgres.forBrand(brandId), note),
      })
    }
    t.ok(reached.size > 2)
    let before = await everything(postgres.sql)
    /** By name, whether one of its filters was missed. */
    const noticed = new Map<string, boolean>()
    for (const [name, calls] of reached) {
      const cells = [...calls].slice(0, MOST_CELLS)
      const original = statement('postgres', name)
      for (const mutated of unfiltered(original)) {
        const texts = new Map([[name, mutated]])
        const { postgres } = here.db
        const open = replacing(t, postgres, 'recoup_app', texts)
        t.same(await tellingCells(t, here, cells, { most: 1, open }), [], `${name} as the app`)
        t.same(await everything(postgres.sql), before)

        const past = replacing(t, postgres, 'recoup_pipeline', texts)
        const telling = await tellingCells(t, here, cells, { most: 1, enough: 1, open: past })
        const wrote = JSON.stringify(await everything(postgres.sql)) !== JSON.stringify(before)
        // It cannot be undone.
        if (wrote) {
          here = await world(t)
          before = await everything(here.db.postgres.sql)
        }
        // Others lock a brand, or look at all of its rows.
        if (!/(?<!brand_)\bid = \$[2-9]|_prefix = \$/.test(original)) continue
        noticed.set(name, noticed.get(name) === true || telling.length > 0 || wrote)
      }
    }
    // Of two ids only one is foreign at a time, and a second filter or statement may hold where the first one leaks.
    const silent = [...noticed].flatMap(([name, told]) => (told ? [] : [name]))
    t.comment(`silent past the wall: ${silent.join(', ')}`)
    t.ok(
      noticed.size > 2 && silent.length < noticed.size / 2,
      `${silent.length} of ${noticed.size} are silent`,
    )
  },
)
