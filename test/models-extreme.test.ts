import t from 'tap'
import { loadModels } from '../src/model/graph.ts'
import { withModels } from './fixtures/model-case.ts'

const models = await loadModels()

for (const [whose, subject] of Object.entries({ 'one profile': '1', 'many profiles': 'n' }))
  t.test(`properties that anyone sets on ${whose} need not fit into memory`, async (t) => {
    await withModels(models, {}, async (connection) => {
      await connection.run(`
        insert into events (event_id, subject, event_type, occurred_at, properties)
        select n, ${subject}, 'updateProperties', '2025-01-01'::timestamp + to_seconds(n),
          (select json_group_object('p' || n || '_' || k, repeat('x', 15)) from range(100) as names (k))
        from range(5000) as sent (n)`)
      // With lists and max_by these 14 MB took more than 200.
      await connection.run(`set temp_directory = '${t.testdir()}'; set memory_limit = '120MB'`)
      await t.resolves(connection.run('create table computed as from profile_properties'))
    })
  })
