import t from 'tap'
import { PROCESS_SCENARIOS } from './faults/scenarios.ts'
import { openStage } from './faults/stage.ts'
import { randomSource } from './fixtures/random.ts'

// The short form of `make test-faults`, with that of one server in faults.test.ts.
const ROUNDS = { kills: 1, restarts: 1 }

t.test('every acknowledged event is in the lake once, whichever server took it', async (t) => {
  const stage = await openStage(t)
  for (const { what, times, run } of PROCESS_SCENARIOS)
    await t.test(`after ${ROUNDS[times]} × ${what}`, (t) => run(t, stage, randomSource(t), ROUNDS[times]))
})
