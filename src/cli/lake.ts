import { brandManifest, type LakeFile, type Manifest } from '../lake/manifest.ts'
import { command, text } from './command.ts'
import { brandOrOnly, brandUnlessOnly } from './of-brand.ts'
import { table } from './table.ts'

/** What others read by themselves; reads of the service come from the files that are left out. */
const isShown = ({ relation }: LakeFile) => relation !== 'served'

/** Of a shared file, rows up to this tick are in files of the brand's own. */
const afterTick = ({ cutTicks }: Manifest, { brand_id, relation }: LakeFile) =>
  brand_id === null ? (cutTicks[relation] ?? 0) : null

export const lakeCommands = [
  command({
    name: 'lake files',
    what: 'List the Parquet files that hold what a brand has now, for a DuckDB of your own',
    options: { brand: brandUnlessOnly },
    run: async ({ app: open, values }) => {
      const app = await open()
      const { id } = await brandOrOnly(app, text(values, 'brand'))
      const manifest = await brandManifest(app.postgres, id)
      return {
        brand_id: id,
        tick: manifest.tick,
        generation: manifest.generation,
        files: [...manifest.files, ...manifest.staged].filter(isShown).map((file) => ({
          relation: file.relation,
          path: file.path,
          after_tick: afterTick(manifest, file),
          level: file.level,
          schema_version: file.schema_version,
          rows: file.rows,
          bytes: file.bytes,
          tick_lo: file.tick_lo,
          tick_hi: file.tick_hi,
        })),
      }
    },
    text: ({ brand_id, tick, generation, files }) =>
      [
        table(
          ['relation', 'rows', 'level', 'schema', 'ticks', 'after', 'bytes', 'path'],
          files.map((file) => [
            file.relation,
            file.rows,
            file.level,
            file.schema_version,
            `${file.tick_lo}-${file.tick_hi}`,
            file.after_tick,
            file.bytes,
            file.path,
          ]),
        ),
        `Brand ${brand_id}, tick ${tick}, generation ${generation}`,
      ].join('\n'),
  }),
]
