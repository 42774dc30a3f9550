import t from 'tap'
import { diskFull } from './faults/disk.ts'
import { killSnapshots, raceSnapshots } from './faults/snapshots.ts'
import { randomSource } from './fixtures/random.ts'

// The short form of `make test-faults`, with that of servers and connections in faults.test.ts.
const ROUNDS = { fillings: 1, steps: 3, races: 4 }

t.test(`after ${ROUNDS.fillings} × disk of Postgres full and freed`, (t) =>
  diskFull(t, randomSource(t), ROUNDS.fillings),
)

t.test(`after a snapshot killed at ${ROUNDS.steps} of its steps`, (t) =>
  killSnapshots(t, randomSource(t), ROUNDS.steps),
)

t.test(`after ${ROUNDS.races} × two snapshot workers racing`, (t) =>
  raceSnapshots(t, randomSource(t), ROUNDS.races),
)
