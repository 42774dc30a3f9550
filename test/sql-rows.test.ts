import { join } from 'node:path'
import t from 'tap'
import { brand } from './fixtures/brand.ts'
import { database } from './fixtures/database.ts'
import { lake } from './fixtures/lake.ts'
import { recoup } from './fixtures/recoup.ts'

const { postgres, url } = await database(t)
const { lakeDir } = await lake(t, { postgres, url })
await brand({ postgres }, { shop: 'shop.myshopify.com' })

t.test(
  'sql shows the first of more rows than fit into the memory of Node, and counts the others',
  async (t) => {
    const { code, stdout } = await recoup(['sql', '--brand', 'shop', 'from range(5000000)'], {
      env: {
        ...{ DATABASE_URL: url, LAKE_DIR: lakeDir, DATA_DIR: join(lakeDir, '..') },
        NODE_OPTIONS: '--max-old-space-size=128',
      },
    })
    t.equal(code, 0)
    const lines = stdout.trimEnd().split('\n')
    t.equal(lines.at(-1), '… 4999000 more rows (--json prints all)')
    t.equal(lines.at(-2)?.trim(), '999')
    t.equal(lines.length, 1_003)
  },
)
