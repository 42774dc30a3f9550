import { whomsOf } from '../connect/erase/preview.ts'
import { parseExactly } from '../event/exact.ts'
import { openServed } from '../lake/served.ts'
import type { Db } from '../op.ts'
import { parseSaved } from '../segment/definition.ts'
import { customerNamed, explain } from '../segment/explain.ts'
import { displayOne } from '../segment/plan.ts'
import { openReading } from '../segment/reading.ts'
import {
  createSegment,
  type SavedSegment,
  type SegmentWithDefinition,
  segmentItem,
  segmentWithDefinition,
} from '../segment/saved.ts'
import {
  command,
  fileOption,
  integerOption,
  type Run,
  required,
  text,
  UsageError,
  type Values,
} from './command.ts'
import { severalWords } from './named.ts'
import { brand, ofBrand, UUID } from './of-brand.ts'
import { table } from './table.ts'

const segment = {
  type: 'string',
  required: true,
  placeholder: 'SEGMENT',
  what: 'Id or name of the segment',
} as const

/** Newest first. */
const segmentsOf = (db: Db, status: 'active' | 'all') =>
  db.many<SavedSegment>('segments_page', [status, null, null, null])

async function segmentOf(run: Run) {
  const { app, brand: its, db } = await ofBrand(run)
  const wanted = required(run.values, 'segment')
  const found = UUID.test(wanted)
    ? { id: wanted }
    : await db.maybe<{ id: string }>('segment_by_name', [wanted])
  const row = found && (await db.maybe<SegmentWithDefinition>('segment_by_id', [found.id]))
  if (!row) {
    const known = (await segmentsOf(db, 'active')).map(({ name }) => name).join(', ')
    throw new UsageError(`--segment: there is no active segment "${wanted}" of this brand. Known: ${known}`)
  }
  return { app, brand: its, row }
}

export const segmentCommands = [
  command({
    name: 'segment create',
    what: 'Save a segment from a definition file',
    options: {
      brand,
      name: {
        type: 'string',
        required: true,
        placeholder: 'NAME',
        what: 'Name, unique among active segments',
      },
      description: { type: 'string', placeholder: 'TEXT', what: 'What the segment is for' },
      definition: {
        type: 'string',
        required: true,
        placeholder: 'FILE',
        what: 'JSON file with source and rule (- for stdin)',
      },
    },
    run: async (run) => {
      const { values } = run
      const definition = await definitionOf(values)
      const { db } = await ofBrand(run)
      const name = required(values, 'name')
      const created = await createSegment(db, {
        name,
        description: text(values, 'description'),
        definition,
        createdBy: 'cli',
      })
      return segmentWithDefinition(created)
    },
    text: ({ id, name }) => `Segment ${id} "${name}": members appear with the next refresh`,
  }),
  command({
    name: 'segment list',
    what: 'List the segments of a brand with their members, newest first',
    options: { brand, archived: { type: 'boolean', what: 'Archived ones, too' } },
    run: async (run) => {
      const { db } = await ofBrand(run)
      const segments = await segmentsOf(db, run.values.archived === true ? 'all' : 'active')
      return { data: segments.map(segmentItem) }
    },
    text: ({ data }) =>
      table(
        ['name', 'status', 'evaluation', 'members', 'evaluated_at', 'id'],
        data.map(({ name, status, audience, id }) => [
          name,
          status,
          audience.evaluation_status,
          audience.member_count,
          audience.evaluated_at,
          id,
        ]),
      ),
  }),
  command({
    name: 'segment members',
    what: 'List members of a segment as of its last refresh',
    options: {
      brand,
      segment,
      limit: { type: 'string', placeholder: 'N', what: 'At most this many (default 100)' },
    },
    run: async (run) => {
      const limit = integerOption(run.values, 'limit', 100, 1, 1_000_000)
      const { app, brand: its, row } = await segmentOf(run)
      const served = openServed(app.pipeline)
      try {
        const reader = await served.reader(its.id)
        const members = await reader?.rows<{
          customer_id: string
          email: string
          phone: string
          joined_at: Date
        }>(
          `select customer_id, email, phone, joined_at from members join customers using (customer)
           where segment = $1 order by customer_id limit $2`,
          [row.ordinal, limit],
        )
        return {
          segment_id: row.id,
          member_count: row.member_count,
          generation: row.generation,
          evaluated_at: row.evaluated_at,
          members: members ?? [],
        }
      } finally {
        await served.close()
      }
    },
    text: ({ members, member_count, generation, evaluated_at }) =>
      [
        table(
          ['customer_id', 'email', 'phone', 'joined_at'],
          members.map((one) => [one.customer_id, one.email, one.phone, one.joined_at]),
        ),
        evaluated_at
          ? `${members.length} of ${member_count} members, generation ${generation} as of ${evaluated_at.toISOString()}`
          : 'It was not evaluated yet: members appear with the next refresh',
      ].join('\n'),
  }),
  command({
    name: 'segment explain',
    what: 'Show why a customer is a member of a segment, or which condition keeps them out',
    options: {
      brand,
      segment,
      customer: {
        type: 'string',
        required: true,
        placeholder: 'IDENTIFIER',
        what: 'Customer or contact id, email, phone or store id',
      },
    },
    run: async (run) => {
      const identifier = required(run.values, 'customer')
      const { app, brand: its, row } = await segmentOf(run)
      const session = await openReading(app.pipeline, its)
      try {
        const sources = { generation: 0, rows: session.duck.rows }
        const whoms = await whomsOf(app.pipeline, its, identifier)
        const named = await Promise.all(whoms.map((whom) => customerNamed(sources, whom)))
        const [found, ...others] = named.filter((one) => one !== undefined)
        if (found && others.some(({ customer }) => customer !== found.customer))
          throw new UsageError(`--customer: ${severalWords(identifier, whoms)}`)
        if (found === undefined)
          throw new UsageError(
            `--customer: there is no customer with the identifier "${identifier}"; \`recoup segment members\` shows some`,
          )
        return {
          segment_id: row.id,
          customer_id: found.customer_id,
          ...(await explain(sources, row, found.customer)),
        }
      } finally {
        await session.close()
      }
    },
    text: ({ customer_id, member, conditions }) =>
      [
        table(
          ['path', 'condition', 'actual', 'holds', 'alone decides'],
          conditions.map((one) => [
            one.path,
            one.words,
            one.actual,
            one.holds !== one.turned ? 'yes' : 'no',
            one.decides ? 'yes' : 'no',
          ]),
        ),
        `${customer_id} ${member ? 'is' : 'is not'} a member`,
      ].join('\n'),
  }),
  command({
    name: 'segment sql',
    what: 'Show a segment as SQL that runs in `recoup sql`',
    options: { brand, segment },
    run: async (run) => {
      const { row } = await segmentOf(run)
      return { segment_id: row.id, sql: displayOne(parseSaved(row)) }
    },
    // As a prompt takes it; in JSON it can be a part of another SELECT.
    text: ({ sql }) => `${sql};`,
  }),
]

async function definitionOf(values: Values): Promise<unknown> {
  const content = await fileOption(values, 'definition')
  try {
    return parseExactly(content)
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    throw new UsageError(`--definition: ${required(values, 'definition')}: is not valid JSON: ${why}`)
  }
}
