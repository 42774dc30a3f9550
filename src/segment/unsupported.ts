/** What rules never cover, also under `attributes.`, by what people call it, in lower case. */
export const UNSUPPORTED: Readonly<Record<string, LeftOut>> = {
  'RFM scores are': {
    words: ['rfm'],
    names: [
      ...['tier', 'recency', 'frequency', 'monetary', 'rfmtier', 'rfmscore', 'rfmsegment'],
      ...['recencyscore', 'frequencyscore', 'monetaryscore'],
    ],
  },
  'Geography is': {
    words: [],
    names: [
      ...[
        'geography',
        'geo',
        'country',
        'city',
        'region',
        'province',
        'address',
        'zip',
        'postal',
        'postcode',
      ],
      ...[
        'latitude',
        'longitude',
        'location',
        'timezone',
        'countrycode',
        'countryname',
        'zipcode',
        'postalcode',
      ],
    ],
  },
  'Consent is': {
    words: ['consent', 'opt in', 'opt out', 'optin', 'optout'],
    names: [
      ...['acceptsmarketing', 'acceptssms', 'subscribed', 'unsubscribed', 'smsconsent', 'emailconsent'],
      ...['marketingconsent', 'smsoptin', 'emailoptin'],
    ],
  },
  'Email engagement is': {
    words: [
      ...['email engagement', 'email event', 'email open', 'email opened', 'email click', 'email clicked'],
      ...['email delivered', 'email bounced', 'email sent'],
    ],
    names: [
      ...['open', 'click', 'emailengagement', 'emailevents', 'emailopened', 'emailopens', 'emailclicked'],
      ...['emailclicks', 'emaildelivered', 'emailbounced', 'emailsent', 'openedemail', 'clickedemail'],
    ],
  },
}

interface LeftOut {
  /** Words of which a name has all of one entry, in any order. */
  words: readonly string[]
  /** What the letters of a name come to, or those of its words that say more than which one, or in which form. */
  names: readonly string[]
}

/** Of the words of a name, those that only say which one of something, or in which form. */
export const QUALIFIERS: ReadonlySet<string> = new Set([
  ...['shipping', 'billing', 'delivery', 'home', 'default', 'primary', 'customer', 'last', 'current'],
  ...['code', 'name', 'iso', 'score', 'value', 'segment'],
])
