import { CONSENT_RULES } from '../campaign/gate.ts'
import { messageBrand } from '../campaign/message-brand.ts'
import { choiceOption, command, integerOption, type Run, text, UsageError } from './command.ts'
import { brand, ofBrand } from './of-brand.ts'

function timeOf({ values }: Run, name: string): string | null {
  const given = text(values, name)
  if (given === undefined) return null
  if (!/^([01]\d|2[0-3]):[0-5]\d$/.test(given))
    throw new UsageError(`--${name} must be a time of the day such as 21:00, not "${given}"`)
  return given
}

const numberOf = ({ values }: Run, name: string, most: number): number | null =>
  text(values, name) === undefined ? null : integerOption(values, name, 0, 1, most)

const consentRuleOf = ({ values }: Run, name: string): string | null =>
  text(values, name) === undefined ? null : choiceOption(values, name, CONSENT_RULES)

async function policyOf(run: Run) {
  const { policy } = await messageBrand((await ofBrand(run)).db)
  const { timezone, quiet, cap, attributionDays, consent } = policy
  return {
    timezone,
    quiet_from: quiet.from.slice(0, 5),
    quiet_until: quiet.until.slice(0, 5),
    cap_messages: cap.messages,
    cap_days: cap.days,
    attribution_days: attributionDays,
    sms_consent: consent.sms,
    email_consent: consent.email,
  }
}

const told = (policy: Awaited<ReturnType<typeof policyOf>>) =>
  [
    policy.quiet_from === policy.quiet_until
      ? 'No quiet hours'
      : `Quiet from ${policy.quiet_from} until ${policy.quiet_until}, by every clock of the country of the contact’s number; without a country, and in one of several times that it is in itself, by that of ${policy.timezone}`,
    `At most ${policy.cap_messages} campaign messages to a customer, at whichever contact, within ${policy.cap_days} days`,
    `An order within ${policy.attribution_days} days of a message or a click counts as recovered`,
    ...(['sms', 'email'] as const).map((channel) =>
      policy[`${channel}_consent`] === 'required'
        ? `Campaigns message only who agreed to ${channel}`
        : `Campaigns message everybody who has not refused ${channel}, but for unconfirmed double opt-ins`,
    ),
  ].join('\n')

export const policyCommands = [
  command({
    name: 'policy show',
    what: 'Show the rules of a brand for its campaign messages',
    options: { brand },
    run: policyOf,
    text: told,
  }),
  command({
    name: 'policy set',
    what: 'Change the rules of a brand for its campaign messages; what is left out stays',
    options: {
      brand,
      'quiet-from': { type: 'string', placeholder: 'HH:MM', what: 'When the quiet hours begin' },
      'quiet-until': {
        type: 'string',
        placeholder: 'HH:MM',
        what: 'When they end; the same time: there are none',
      },
      'cap-messages': { type: 'string', placeholder: 'N', what: 'Campaign messages to a contact at most' },
      'cap-days': { type: 'string', placeholder: 'N', what: 'Within so many days' },
      'attribution-days': {
        type: 'string',
        placeholder: 'N',
        what: 'How long after a message or a click an order counts as recovered',
      },
      'sms-consent': {
        type: 'string',
        placeholder: CONSENT_RULES.join('|'),
        what: 'Whom campaigns message by sms: only who agreed, or everybody who has not refused',
      },
      'email-consent': { type: 'string', placeholder: CONSENT_RULES.join('|'), what: 'The same for email' },
    },
    run: async (run) => {
      const given = [
        timeOf(run, 'quiet-from'),
        timeOf(run, 'quiet-until'),
        numberOf(run, 'cap-messages', 1_000),
        numberOf(run, 'cap-days', 90),
        numberOf(run, 'attribution-days', 90),
        consentRuleOf(run, 'sms-consent'),
        consentRuleOf(run, 'email-consent'),
      ]
      if (given.every((each) => each === null))
        throw new UsageError('policy set: nothing is set. See recoup policy set --help')
      const [from, until] = given
      await (await ofBrand(run)).db.tx(async (tx) => {
        await tx.run('message_policy_put', given)
        if (from !== null || until !== null) await tx.run('quiet_waits_free', [])
      })
      return await policyOf(run)
    },
    text: told,
  }),
]
