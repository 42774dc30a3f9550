import { ATTRIBUTE_PREFIX } from './catalog.ts'

type Table = Readonly<Record<string, readonly RegExp[]>>

/** What rules never cover, by the words of the names that people try, also under `attributes.`. */
const BY_WORDS: Table = {
  'RFM scores are': [/\brfm/, /\b([rfm] |(recency|frequency|monetary) ?)scores?\b/],
  'Geography is': [
    /\bgeo(graphy|graphic|graphical|ip|location|loc)?\b/,
    /\b(countr(y|ies)|count(y|ies)|cit(y|ies)|provinces?)( ?(codes?|names?))?\b/,
    /\b(zips?|zip ?codes?|post(al)? ?codes?|postal|lat(itude)?|lng|longitude)\b/,
    /^address(es)?\b/,
    /\b(street|home|billing|shipping|delivery|mailing|default) ?(address(es)?|state|region|location)\b/,
  ],
  'Consent is': [
    /consent|\bunsubscribed\b/,
    /\baccepts? ?(.* )?(marketing|sms|emails?)\b/,
    /\b(sms|emails?|marketing) ?(.* )?(un)?subscri(bed|bers?|ptions?)\b/,
    /\b(sms|emails?|marketing)? ?opt(ed|s)? ?(in|out)s?\b/,
  ],
  'Email engagement is': [
    /\be ?mails? ?(.* )?(open\w*|click\w*|bounc\w*|deliver(s|ed|ies|y|ability)?|sent|received|engage\w*)\b/,
    /\b(open(s|ed)?|click(s|ed)?|bounced?|delivered|sent|received) ?(.* )?e ?mails?\b/,
    /\bemail ?events?\b/,
  ],
}

/** Words that are what rules never cover as a field, but under `attributes.` are a brand's own. */
const AS_FIELDS: Table = {
  'RFM scores are': [/^(tier|recency|frequency|monetary)$/],
  'Geography is': [/^(region|location|time ?zone)$/],
  'Consent is': [/^subscribed$/],
  'Email engagement is': [/^(opens|clicks)$/],
}

const LONGEST = 100

/** What rules leave out on purpose, where the name of a field or source says that. */
export function leftOut(name: string): string | undefined {
  const isAttribute = name.startsWith(ATTRIBUTE_PREFIX)
  const words = wordsOf(isAttribute ? name.slice(ATTRIBUTE_PREFIX.length) : name)
  return found(BY_WORDS, words) ?? (isAttribute ? undefined : found(AS_FIELDS, words))
}

const found = (table: Table, words: string) =>
  Object.keys(table).find((what) => table[what]?.some((pattern) => pattern.test(words)))

/** `lastEmailOpened_2` is "last email opened". */
const wordsOf = (name: string): string =>
  name
    .slice(0, LONGEST)
    .replace(/([a-z])(?=[A-Z])|([A-Z])(?=[A-Z][a-z])/g, '$1$2 ')
    .replace(/[^A-Za-z]+/g, ' ')
    .trim()
    .toLowerCase()
