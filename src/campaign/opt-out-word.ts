import { lettersOf } from './letters.ts'
import { ownWords } from './own-words.ts'
import { either, inTurn, isAll, oneOf, type Pattern, repeated } from './phrase.ts'
import { ENGLISH_REFUSALS, NO_THANKS, REFUSALS } from './refusal.ts'

/** Words that end messages when they are all that somebody writes, as carriers and laws know them. */
const ENDS = oneOf(`
  stopall, optout, opt out, opt me out, unsub, no more messages, no more texts,
  no more sms, no more emails, stopp, stoppen, abmelden, mich abmelden, abmeldung, abbestellen, austragen, keine sms mehr,
  keine nachrichten mehr, keine mails mehr, keine e-mails mehr, keine werbung mehr, arrêt, arrêter, arrêtez,
  désabonner, me désabonner, se désabonner, désabonnez-moi, désabonnement, désinscrire, me désinscrire, désinscrivez-moi,
  désinscription, ne plus recevoir,
  baja, darme de baja, dar de baja, dame de baja, alto, detener, basta, desuscribir, desuscribirme, no más mensajes, no más sms,
  no quiero más mensajes, não quero mais mensagens,
  parar, pare, sair, descadastrar, disiscrivi, disiscrivimi, disiscrizione, cancellami, basta messaggi, basta sms,
  uitschrijven, afmelden, afmeld, geen berichten meer, geen sms meer, avsluta, avmeld, avregistrera, lopeta, wypisz, rezygnuję, odhlásit, dezabonare,
  durdur, ret, td, стоп, отписаться, отписка, отпишите, הסר, توقف, 停止, 配信停止, 退订, 退訂, 取消订阅, 取消訂閱, 수신거부, ยกเลิก
`)
/** Those of them that may answer a question about an order, behind a no. */
const ANSWERS = oneOf('cancel, end, revoke, cancelar, iptal')
/** The same of words behind which may stand what is to end. */
const ENDS_WHAT = oneOf(`
  stop, quit, unsubscribe, remove me, take me off,
  don't text, dont text, do not text, don't message, dont message, do not message, don't email, dont email, do not email,
  don't contact, dont contact, do not contact
`)
const WHAT = oneOf(`
  me, us, it, this, that, all, these, the, your, any, more, anymore, again, texting, messaging, emailing, sending, contacting,
  spamming, texts, text, messages, message, sms, emails, email, e-mails, e-mail, mails, spam, from, to, list, mailing, 2
`)
const COURTESY = oneOf(`
  ok, okay, hi, hello, hey, hallo, please, pls, plz, now, immediately, thanks, thank you, thx, bitte, jetzt, sofort, danke, s'il vous plaît, svp, stp,
  s'il te plaît, maintenant, merci, por favor, ahora, ya, gracias, agora, já, obrigado, obrigada, prego, per favore, per piacere,
  subito, ora, grazie, alstublieft, alsjeblieft, aub, nu, dank u, tack, tak, takk, proszę, lütfen, пожалуйста
`)
/** Words with which somebody asks for messages (again): none that may answer something else, such as yes, “high” or “begin”. */
const BEGINS = oneOf(`
  start, unstop, subscribe, resubscribe, subscribe me, abonnieren, wieder abonnieren, s'abonner, m'abonner, réabonner,
  suscribir, suscribirme, darme de alta, iscrivimi, iscrivermi, başlat, старт, подписаться, 配信開始, 订阅, 訂閱, 수신동의
`)

/** One of the phrases, however often, with courtesies around it. */
const only = (phrase: Pattern, before = COURTESY) =>
  inTurn(repeated(before), phrase, repeated(either(phrase, COURTESY)))
const STOP_WHAT = inTurn(ENDS_WHAT, repeated(WHAT))
const STOP = only(either(ANSWERS, ENDS, STOP_WHAT, REFUSALS))
const NO_STOP = only(either(ENDS, STOP_WHAT, REFUSALS), either(COURTESY, NO_THANKS))
/** In other languages “no” may turn what follows round: “não pare”, “no dejen de escribirme”. */
const NO_STOP_IN_ENGLISH = only(
  inTurn(oneOf('no'), repeated(COURTESY), either(inTurn(ENDS_WHAT, WHAT, repeated(WHAT)), ENGLISH_REFUSALS)),
)
const START = only(BEGINS)
/** What is longer says something else. */
const LONGEST = 100

/** What a message that came in asks for: no more messages, messages again, or neither. */
export function wishOf(text: string): 'stop' | 'start' | null {
  const letters = lettersOf(ownWords(text))
  if (letters.length > LONGEST) return null
  const words = letters.split(' ')
  if ([STOP, NO_STOP, NO_STOP_IN_ENGLISH].some((stop) => isAll(stop, words))) return 'stop'
  return isAll(START, words) ? 'start' : null
}
