import { importFile } from '../connect/import/import.ts'
import { KINDS } from '../connect/import/targets.ts'
import { command, text, UsageError } from './command.ts'
import { brand, ofBrand } from './of-brand.ts'

const WORDS = new Intl.ListFormat('en-GB')

export const importCommands = [
  command({
    name: 'import',
    arguments: ['KIND', 'FILE'],
    what: `Import a file of one KIND: ${KINDS.join(', ')}; CSV or NDJSON, also as .gz or .zst, or Parquet; the same file twice changes nothing`,
    options: {
      brand,
      map: {
        type: 'string',
        placeholder: 'FILE',
        what: 'JSON: target field → source column or DuckDB expression, and where',
      },
      'shift-to-now': { type: 'boolean', what: 'Move all times so that the last moment of the file is now' },
      rejects: {
        type: 'string',
        placeholder: 'FILE',
        what: 'Where rows that cannot be imported go (default: beside FILE)',
      },
    },
    run: async (run) => {
      const { values, positionals } = run
      const [given, file] = positionals
      const kind = KINDS.find((one) => one === given)
      if (!kind) throw new UsageError(`KIND must be one of ${KINDS.join(', ')}, not "${given}"`)
      const { app, brand: found } = await ofBrand(run)
      const shown = run.progress(`import ${kind}`)
      const report = await importFile({
        pipeline: app.pipeline,
        brand: found,
        kind,
        file,
        map: text(values, 'map'),
        shiftToNow: values['shift-to-now'] === true,
        rejectsFile: text(values, 'rejects'),
        onProgress: (done: number, total: number) => shown.update(done, total),
      })
      shown.end()
      return { kind, ...report }
    },
    text: (report) => {
      const { kind, read, imported, unchanged, rejected, rejects_file, filtered, of_erased } = report
      const left = [
        ...(filtered ? [`${filtered} left out by "where"`] : []),
        `${rejected} rejected${rejected ? ` (see ${rejects_file})` : ''}`,
        ...(of_erased ? [`${of_erased} of persons who were erased`] : []),
      ]
      return [
        `${read + filtered} rows, of which ${WORDS.format(left)}. The others hold ${imported + unchanged} ${kind}: ${imported} imported, ${unchanged} unchanged`,
        ...(report.without_customer
          ? [`${report.without_customer} of these ${kind} name no customer: they belong to nobody`]
          : []),
        ...(report.ignored_columns.length
          ? [`Columns that nothing is imported from: ${report.ignored_columns.join(', ')}`]
          : []),
      ].join('\n')
    },
    // A column of the wrong form: nothing of the file can be used.
    fails: ({ read, rejected }) => read > 0 && rejected >= read,
  }),
]
