import t from 'tap'
import { setLogLevel } from '../src/log.ts'
import { statement } from '../src/store/sqlfile.ts'
import { stateOf as everything, idsOf } from './fixtures/rows.ts'
import { noting, replacing } from './fixtures/statements.ts'
import { CELLS, type Cell, naming, tellingCells, type World, world } from './fixtures/tenancy.ts'
import { unfiltered } from './fixtures/unfiltered.ts'

setLogLevel('error')

/** Of the calls that run a statement so many are asked: each by thrice as many filters would take minutes. */
const MOST_CELLS = 3

t.test(
  'an id of another brand tells nothing without a filter, but for a role that passes the wall',
  async (t) => {
    let here = await world(t)
    const reached = new Map<string, Set<Cell>>()
    // Which statements a call makes does not depend on which of the other brand's ids it names.
    const one = await naming(here, ({ ids }) => ({
      uuids: ids.uuids.slice(0, 1),
      texts: ids.texts.slice(0, 1),
    }))
    for (const cell of CELLS) {
      const note = (name: string) => reached.set(name, (reached.get(name) ?? new Set()).add(cell))
      const open = (brandId: string) => noting(here.db.postgres.forBrand(brandId), note)
      await tellingCells(t, one, [cell], { most: 1, open })
    }
    t.ok(reached.size > 2)
    const mutants = [...reached].map(([name, calls]) => {
      const original = statement('postgres', name)
      return { name, original, mutated: unfiltered(original), cells: [...calls].slice(0, MOST_CELLS) }
    })
    let before = await everything(here.db.postgres.sql)

    const ofTables = (world: World, texts: readonly string[]) =>
      naming(world, ({ brand }) =>
        idsOf(world.db.postgres.sql, brand, (table) => texts.some((text) => text.includes(table))),
      )

    // The wall makes each do what it did, so that all may be broken at once: every first filter, every second …
    const asApp = replacing(t, here.db.postgres, 'recoup_app')
    const most = Math.max(...mutants.map(({ mutated }) => mutated.length))
    for (let at = 0; at < most; at++) {
      const broken = mutants.filter(({ mutated }) => at < mutated.length)
      const texts = new Map(broken.map(({ original, mutated }) => [original, mutated[at] as string]))
      const cells = [...new Set(broken.flatMap(({ cells }) => cells))]
      // Every id once, then those that the few statements with so many filters can find.
      const asked = at === 0 ? here : await ofTables(here, [...texts.keys()])
      t.same(await tellingCells(t, asked, cells, { most: 1, open: asApp(texts) }), [], `filters ${at}`)
      t.same(await everything(here.db.postgres.sql), before)
    }

    /** By name, whether one of its filters was missed. */
    const noticed = new Map<string, boolean>()
    let past = replacing(t, here.db.postgres, 'recoup_pipeline')
    for (const { name, original, mutated, cells } of mutants) {
      // Others lock a brand, or look at all of its rows.
      if (!/(?<!brand_)\bid = \$[2-9]|_prefix = \$/.test(original)) continue
      let found = await ofTables(here, [original])
      for (const text of mutated) {
        const open = past(new Map([[original, text]]))
        const telling = await tellingCells(t, found, cells, { most: 1, enough: 1, open })
        const wrote = JSON.stringify(await everything(here.db.postgres.sql)) !== JSON.stringify(before)
        // It cannot be undone.
        if (wrote) {
          here = await world(t)
          before = await everything(here.db.postgres.sql)
          past = replacing(t, here.db.postgres, 'recoup_pipeline')
          found = await ofTables(here, [original])
        }
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
