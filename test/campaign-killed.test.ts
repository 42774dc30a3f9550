import t from 'tap'
import { setLogLevel } from '../src/log.ts'
import { killCampaigns } from './faults/campaigns.ts'
import { randomSource } from './fixtures/random.ts'

setLogLevel('error')

// The long form is in make test-faults.
t.test('workers that are killed lose no run and send no message twice', (t) =>
  killCampaigns(t, randomSource(t), { kills: 8, runs: 60 }),
)
