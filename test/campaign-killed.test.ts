import t from 'tap'
import { setLogLevel } from '../src/log.ts'
import { killCampaigns } from './faults/campaigns.ts'
import { randomSource } from './fixtures/random.ts'

setLogLevel('error')

// The long form is in make test-faults.
t.test('workers that are killed lose no run, and a gateway gets each message once', (t) =>
  killCampaigns(t, randomSource(t), { kills: 6, runs: 40, over: 'http_sms' }),
)

t.test('a mail server gets no message twice from workers that are killed', (t) =>
  killCampaigns(t, randomSource(t), { kills: 6, runs: 40, over: 'smtp' }),
)
