import t from 'tap'
import { randomSource } from '../fixtures/random.ts'
import { killCampaigns } from './campaigns.ts'
import { diskFull } from './disk.ts'
import { PROCESS_SCENARIOS, SCENARIOS } from './scenarios.ts'
import { killSnapshots, raceSnapshots } from './snapshots.ts'
import { openStage } from './stage.ts'

// make test-faults: about ten minutes. RANDOM_SEED replays the faults of a run.
const ROUNDS = {
  kills: 50,
  stops: 30,
  terminations: 200,
  cuts: 100,
  restarts: 20,
  fillings: 5,
  steps: 1_000,
  races: 100,
}
const CAMPAIGN_ROUNDS = { kills: 200, runs: 500 }
const PROCESS_ROUNDS = { kills: 10, restarts: 10 }

// A quiet machine takes a tenth of it.
t.setTimeout(7_200_000)
t.test('every acknowledged event is in the lake once, and none that was not sent', async (t) => {
  const stage = await openStage(t)
  for (const { what, times, run } of SCENARIOS)
    await t.test(`after ${ROUNDS[times]} × ${what}`, (t) => run(t, stage, randomSource(t), ROUNDS[times]))
  for (const { what, times, run } of PROCESS_SCENARIOS)
    await t.test(`after ${PROCESS_ROUNDS[times]} × ${what}`, (t) =>
      run(t, stage, randomSource(t), PROCESS_ROUNDS[times]),
    )
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

for (const over of ['http_sms', 'smtp'] as const)
  t.test(
    `after ${CAMPAIGN_ROUNDS.kills} × kill -9 of a worker of ${CAMPAIGN_ROUNDS.runs} campaign runs over ${over}`,
    (t) => killCampaigns(t, randomSource(t), { ...CAMPAIGN_ROUNDS, over }),
  )
