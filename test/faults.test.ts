import t from 'tap'
import { SCENARIOS } from './faults/scenarios.ts'
import { openStage } from './faults/stage.ts'
import { randomSource } from './fixtures/random.ts'

// The short form of `make test-faults`, with that of disks and snapshots in storage-faults.test.ts.
const ROUNDS = { kills: 2, stops: 1, terminations: 8, cuts: 3, restarts: 1 }

t.test('every acknowledged event is in the lake once, and none that was not sent', async (t) => {
  const stage = await openStage(t)
  for (const { what, times, run } of SCENARIOS)
    await t.test(`after ${ROUNDS[times]} × ${what}`, (t) => run(t, stage, randomSource(t), ROUNDS[times]))
})
