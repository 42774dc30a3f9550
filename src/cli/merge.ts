import { listMerges, mergeOf, sharedIdentifiers, undoMerge } from '../identity/merge.ts'
import { command, integerOption, type Run, text, UsageError } from './command.ts'
import { brand, ofBrand, UUID } from './of-brand.ts'
import { table } from './table.ts'

function mergeId({ positionals: [id] }: Run<readonly [string]>): string {
  if (!UUID.test(id)) throw new UsageError(`"${id}" is not the id of a merge: recoup merge list shows it`)
  return id
}

export const mergeCommands = [
  command({
    name: 'merge list',
    what: 'List whom identity resolution made one, newest first, and identifiers that too many share',
    options: {
      brand,
      customer: { type: 'string', placeholder: 'ID', what: 'Only of this customer, by any id it ever had' },
      limit: { type: 'string', placeholder: 'N', what: 'At most this many (default 50)' },
    },
    run: async (run) => {
      const limit = integerOption(run.values, 'limit', 50, 1, 100_000)
      const { db } = await ofBrand(run)
      return {
        data: await listMerges(db, limit, text(run.values, 'customer')),
        shared_identifiers: await sharedIdentifiers(db),
      }
    },
    text: ({ data, shared_identifiers }) =>
      [
        table(
          ['id', 'merged_at', 'from', 'to', 'evidence', 'by', 'undone_at', 'undone_by'],
          data.map((one) => [
            one.id,
            one.merged_at,
            one.from_id,
            one.to_id,
            one.evidence.kind,
            one.evidence.source,
            one.undone_at,
            one.undone_by,
          ]),
        ),
        ...(shared_identifiers.length
          ? [
              '\nShared by more than 10 customers, so that they join nobody:',
              table(
                ['kind', 'value'],
                shared_identifiers.map(({ kind, value }) => [kind, value]),
              ),
            ]
          : []),
      ].join('\n'),
  }),
  command({
    name: 'merge show',
    arguments: ['ID'],
    what: 'Show one merge of recoup merge list with its evidence',
    options: { brand },
    run: async (run) => {
      const id = mergeId(run)
      return mergeOf((await ofBrand(run)).db, id)
    },
    text: (merge) =>
      table(
        ['field', 'value'],
        [
          ['from', merge.from_id],
          ['to', merge.to_id],
          ['now both answer as', merge.customer_id ?? ''],
          ['merged_at', merge.merged_at],
          ['both have', `${merge.evidence.kind} ${merge.values.join(', ')}`],
          ['said by', merge.evidence.source],
          ['undone_at', merge.undone_at],
          ['undone_by', merge.undone_by],
        ],
      ),
  }),
  command({
    name: 'merge undo',
    arguments: ['ID'],
    what: 'Take the two of a merge apart for good (recoup merge list has its id); reads follow with the next tick',
    options: { brand },
    run: async (run) => {
      const id = mergeId(run)
      return undoMerge((await ofBrand(run)).db, id, 'cli')
    },
    text: ({ from_id, to_id }) => `${from_id} and ${to_id} are two again, and stay so`,
  }),
]
