import t from 'tap'
import type { Whereabouts } from '../src/lake/generation.ts'
import type { Session } from '../src/lake/session.ts'
import type { MemberColumn } from '../src/segment/dialect/duckdb/member-columns.ts'
import type { SegmentRow } from '../src/segment/evaluate.ts'
import { diffMembers } from '../src/segment/member-diff.ts'
import { type PublishedMembers, wordTables } from '../src/segment/member-words.ts'
import { OF_LAKE } from '../src/segment/members.ts'
import { type Duck, openDuck } from '../src/store/duckdb.ts'
import { type RandomSource, randomSource } from './fixtures/random.ts'

/** Segments around the ends of the words that hold their bits. */
const SIZES = [1, 2, 61, 62, 63, 124, 125]
const ROUNDS = 40
const BEFORE = new Date('2026-05-01T00:00:00Z')
const NOW = new Date('2026-05-02T03:04:05.678Z')

interface Membership {
  segment: number
  customer: number
}

const keyOf = ({ segment, customer }: Membership) => `${segment} ${customer}`
const ordered = <Row extends Membership>(rows: readonly Row[]) =>
  rows.toSorted((a, b) => a.segment - b.segment || a.customer - b.customer)

async function fill(duck: Duck, table: string, rows: readonly Membership[]): Promise<void> {
  await duck.run(`create table ${table} (segment integer, customer integer)`)
  await duck.run(
    `insert into ${table} select unnest($1::json::integer[]), unnest($2::json::integer[])`,
    ['segment', 'customer'].map((name) => JSON.stringify(rows.map((row) => row[name as keyof Membership]))),
  )
}

/** The same memberships as columns of some tables, which have customers who are in none as well. */
async function columnsOf(
  duck: Duck,
  random: RandomSource,
  segments: readonly number[],
  rows: readonly Membership[],
): Promise<MemberColumn[]> {
  const columns = segments.map((ordinal) => ({ ordinal, table: `t${random.below(4)}`, holds: `c${ordinal}` }))
  await fill(duck, 'members_now', rows)
  for (const [table, same] of Map.groupBy(columns, (column) => column.table)) {
    const answers = same.map(
      ({ ordinal, holds }) =>
        `case when bool_or(segment = ${ordinal}) then true when customer % 2 = 0 then false end as ${holds}`,
    )
    await duck.run(`
      create table ${table} as
      select customer, ${answers.join(', ')}
      from (from members_now union all select -1, unnest(range(50))::integer)
      group by customer`)
  }
  return columns
}

/** What shows some customers as they changed, and of segments that the last refresh did not evaluate less than there is. */
async function publish(
  duck: Duck,
  random: RandomSource,
  rows: readonly Membership[],
  segments: readonly SegmentRow[],
): Promise<PublishedMembers> {
  const fresh = segments.filter(() => random.chance(0.8))
  const isFresh = new Set(fresh.map(({ ordinal }) => ordinal))
  const shown = rows.filter(({ segment }) => isFresh.has(segment) || random.chance(0.5))
  const replaced = new Set(random.list(0, 10, () => random.below(40)))
  const changed = shown.filter(({ customer }) => replaced.has(customer))
  const inBase = ({ customer }: Membership) => !replaced.has(customer) || random.chance(0.5)
  await fill(duck, 'base_members', shown.filter(inBase))
  await fill(duck, 'changed_members', changed)
  await fill(duck, OF_LAKE, rows)
  await duck.run('create table replaced as select unnest($1::json::integer[]) as customer', [
    JSON.stringify([...replaced]),
  ])
  const changes = { rows: 'changed_members', replaced: 'replaced' }
  const places = new Map<string, Whereabouts>()
  places.set('members', { everyone: 'base_members', ...(replaced.size > 0 && { changes }) })
  for (const { name, select } of await wordTables(duck, 'base_members')) {
    await duck.run(`create table ${name} as ${select}`)
    places.set(name, { everyone: name })
  }
  return { places, fresh }
}

t.test('members and changes are those of a comparison one by one, whatever is evaluated', async (t) => {
  const random = randomSource(t)
  const tempDir = t.testdir()
  for (let round = 0; round < ROUNDS; round++) {
    const size = random.pick(SIZES)
    // Far apart, or neighbours with gaps between them.
    const numbers = random.chance(0.5) ? 2 ** 20 : 2 * size + 8
    const drawn = new Set<number>()
    while (drawn.size < size + 3) drawn.add(random.below(numbers))
    const known = [...drawn]
    // The others wait, failed or are archived.
    const evaluated = known.slice(0, -3)
    const any = (of: readonly number[]) => (): Membership => ({
      segment: random.pick(of),
      customer: random.pick([0, 2 ** 31 - 1, random.below(40)]),
    })
    const unique = (rows: Membership[]) => [...new Map(rows.map((row) => [keyOf(row), row])).values()]
    const before = unique(random.list(0, 400, any(known)))
    const staying = random.pick([0, 0.5, 0.98, 1])
    const now = unique([
      ...before.filter(({ segment }) => evaluated.includes(segment) && random.chance(staying)),
      ...random.list(0, 5, any(evaluated)),
    ])
    const whole = random.chance(0.5)
    const [was, is] = [before, now].map((rows) => new Set(rows.map(keyOf))) as [Set<string>, Set<string>]
    const entered = now.filter((one) => !was.has(keyOf(one)))
    const exited = before.filter((one) => evaluated.includes(one.segment) && !is.has(keyOf(one)))

    const duck = await openDuck({ memoryMb: 256, threads: 1, tempDir })
    t.teardown(() => duck.close())
    const rows = evaluated.map(
      (ordinal) =>
        ({
          ordinal,
          evaluated_count: before.filter(({ segment }) => segment === ordinal).length,
        }) as SegmentRow,
    )
    const members = whole && random.chance(0.5) ? await columnsOf(duck, random, evaluated, now) : null
    if (!members) await fill(duck, 'evaluated', now)
    await fill(duck, 'known', before)
    await duck.run(
      `create view ${whole ? 'member_before' : 'touched_before'} as
       select *, timestamp '${BEFORE.toISOString()}' as joined_at from known`,
    )
    const published = whole && random.chance(0.5) ? await publish(duck, random, before, rows) : null
    const isSmall = random.chance(0.5)
    const manifest = { files: [], staged: [] } as unknown as Session['manifest']
    const of = { evaluated: rows, members }
    const { changes, counts } = await diffMembers(
      { duck, manifest, isSmall },
      of,
      NOW,
      whole && { published },
    )

    const how = `${members ? 'columns' : 'rows'} and ${published ? 'words' : 'rows'}`
    const what = `round ${round}, ${size} segments${isSmall ? ' of few rows' : ''}, ${how}`
    t.equal(changes, entered.length + exited.length, what)
    t.same(
      ordered(await duck.rows<Membership>('from member_diff')),
      ordered([
        ...entered.map((one) => ({ ...one, action: 'entered' })),
        ...exited.map((one) => ({ ...one, action: 'exited' })),
      ]),
      what,
    )
    t.same(
      ordered(await duck.rows<Membership>('from members')),
      ordered([
        ...before.filter((one) => !exited.includes(one)).map((one) => ({ ...one, joined_at: BEFORE })),
        ...entered.map((one) => ({ ...one, joined_at: NOW })),
      ]),
      what,
    )
    t.same(
      evaluated.map((ordinal) => counts.get(ordinal) ?? 0),
      evaluated.map((ordinal) => now.filter(({ segment }) => segment === ordinal).length),
      what,
    )
  }
})
