import t from 'tap'
import { diskFull } from './faults/disk.ts'
import { SCENARIOS } from './faults/scenarios.ts'
import { killSnapshots, raceSnapshots } from './faults/snapshots.ts'
import { openStage } from './faults/stage.ts'
import { randomSource } from './fixtures/random.ts'

// The short form of `make test-faults`.
const ROUNDS = { kills: 2, stops: 1, terminations: 8, cuts: 3, restarts: 1, fillings: 1, steps: 3, races: 4 }

t.test('every acknowledged event is in the lake once, and none that was not sent', async (t) => {
  const stage = await openStage(t)
  for (const { what, times, run } of SCENARIOS)
    await t.test(`after ${ROUNDS[times]} × ${what}`, (t) => run(t, stage, randomSource(t), ROUNDS[times]))
})

t.test(`after ${ROUNDS.fillings} × disk of Postgres full and freed`, (t) =>
  diskFull(t, randomSource(t), ROUNDS.fillings),
)

t.test(`after a snapshot killed at ${ROUNDS.steps} of its steps`, (t) =>
  killSnapshots(t, randomSource(t), ROUNDS.steps),
)

t.test(`after ${ROUNDS.races} × two snapshot workers racing`, (t) =>
  raceSnapshots(t, randomSource(t), ROUNDS.races),
)
