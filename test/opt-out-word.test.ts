import t from 'tap'
import { wishOf } from '../src/campaign/opt-out-word.ts'

const WISHES = {
  'in any spelling': {
    stop: [
      'STOP',
      ' stop. ',
      'Stop!',
      'UNSUBSCRIBE',
      'Arre\u0302t',
      'arret',
      'ＳＴＯＰ',
      'S\u200bTOP',
      'İPTAL',
      'Стоп',
    ],
    start: ['START', 'unstop', 'Başlat'],
    null: ['yes', 'ja', 'si', 'oui', '', '🙂'],
  },
  'in many languages': {
    stop: [
      'הסר',
      '退订',
      '配信停止。',
      'Abmelden',
      'ARRÊTER',
      'stoppen',
      'detener',
      'basta',
      'Bitte keine SMS mehr',
      'désabonnez-moi svp',
      'geen berichten meer',
      'No quiero más mensajes',
      '수신거부',
    ],
    start: ['darme de alta', 'abonnieren', 'suscribirme', 's’abonner', '配信開始'],
    null: [
      'basta cosi poco',
      'das Ende',
      'keine Frage mehr',
      'para mí',
      'alta',
      'iniciar',
      'Chega?',
      'Plus de messages ?',
    ],
  },
  'with courtesies': {
    stop: [
      'please stop',
      'Stop bitte',
      'stop, por favor',
      'STOP s’il vous plaît',
      'Stop now, thanks!',
      'ya basta',
      'ok stop',
      'Hi, stop please',
    ],
    start: ['start bitte', 'Please subscribe'],
    null: ['please', 'thank you', 'ja bitte', 'stop and start', 'start the return of my order'],
  },
  'with what is to end': {
    stop: [
      'opt-out',
      'Opt  out',
      'Unsubscribe me',
      'stop texting me',
      'please stop texting me',
      'Stop it',
      'STOP 2',
      'dont text me again',
      'Please take me off your list',
    ],
    start: [],
    null: [
      'cancel my order',
      'cancel it',
      'stop by tomorrow?',
      'do not stop',
      'the end',
      'the end of it',
      'stop the order',
    ],
  },
  'in plain sentences': {
    stop: [
      'I dont want any more texts',
      'Id like to unsubscribe',
      'No gracias, basta',
      'No, leave me alone',
      'No thanks, please stop texting me',
      'No, stop texting me!',
      'No, please stop sending me messages',
      'I don’t want any more texts',
      'I do not want to receive these messages.',
      'Please leave me alone',
      'I’d like to unsubscribe, thanks',
      'Bitte stoppen Sie das',
      'Nein danke, bitte keine SMS mehr',
      'Bitte hören Sie auf',
      'Hallo, bitte hören Sie auf mir zu schreiben. Danke',
      'Ich möchte keine Nachrichten mehr erhalten',
      'bitte keine weiteren SMS',
      'Non merci, arrêtez',
      'Arrêtez de m’envoyer des SMS svp',
      'Je ne veux plus recevoir vos messages',
      'Ne m’écrivez plus',
      'No gracias, no me envíen más mensajes',
      'Por favor dejen de escribirme',
      'No quiero recibir más SMS',
      'No grazie, basta messaggi',
      'Per favore smettetela',
      'Non voglio più ricevere SMS',
      'Nee bedankt, stop ermee',
      'Ik wil geen berichten meer ontvangen',
      'Stuur me geen sms meer',
      'Não, obrigado, parem de me enviar mensagens',
      'Não quero mais receber mensagens',
      'Nie, dziękuję, proszę nie pisać więcej',
      'Proszę przestać',
      'Nie chcę więcej wiadomości',
    ],
    start: [],
    null: [
      'No thanks',
      'Nein danke',
      'stop by your store tomorrow?',
      'No thanks, I will stop by your store tomorrow',
      'Can I stop by your store?',
      'Bitte stoppen Sie die Lieferung',
      'Bitte stoppen Sie meine Bestellung',
      'Wann hören Sie auf zu liefern?',
      'Hören Sie auf Kunden?',
      'Keine SMS erhalten',
      'Ich habe keine SMS mehr erhalten',
      'Ich möchte keine Tasse mehr',
      'I don’t want any more cups',
      'I want to cancel',
      'Please don’t stop',
      'No, don’t stop the order',
      'Arrêtez la livraison',
      'Plus de messages ?',
      'Je ne veux plus de cette tasse',
      'No basta',
      'No dejen de escribirme',
      'Por favor no paren',
      'No paren de enviarme mensajes',
      'No thanks, cancel',
      'No gracias, cancelar',
      'No quiero más tazas',
      'Dejen de enviarme tazas',
      'Non voglio più la tazza',
      'Smettete di spedire?',
      'Stop met de levering',
      'Ik wil geen thee meer',
      'Não pare',
      'Não quero mais a xícara',
      'Nie rezygnuję',
      'Proszę nie wysyłać zamówienia',
    ],
  },
  'several times': {
    stop: ['STOP STOP', 'stop! stop!! please stop', 'STOP UNSUBSCRIBE', 'stop sending me emails'],
    start: ['start start'],
    null: [`${'stop '.repeat(100)}it there`],
  },
  'above a signature or a quoted text': {
    stop: [
      'STOP\n\nSent from my iPhone',
      'Stop\r\n\r\nVon meinem iPhone gesendet',
      'STOP\n\nOn Sat, 28 Nov 2026 at 10:00, Lumen <hello@lumen.example>\nwrote:\n\n> Your cart waits',
      'STOP\n\nAm 28.11.2026 um 10:00 schrieb Lumen:\n> Dein Warenkorb',
      'STOP\n\n-----Original Message-----\nFrom: Lumen\nYour cart waits',
      '> Your cart waits\n\nSTOP',
      'Stop\n\nVerstuurd vanaf mijn iPhone',
      'Stop\n\nFrom: Lumen\nSent: Saturday 28 November 2026\nYour cart waits',
      'Stop\n\nDe : Lumen <hello@lumen.example>\nVotre panier',
      'STOP\n\nOn Sat, 28 Nov 2026 at 10:00, Lumen\n<hello@lumen.example>\nwrote:\n\n> Your cart waits',
      'STOP\n\n28.11.2026 10:00, Lumen schrieb:\n> Dein Warenkorb',
      'On Sat, 28 Nov 2026 Lumen wrote:\n> Your cart waits\n\nSTOP',
    ],
    start: ['Start\n-- \nAda'],
    null: [
      'My order?\n\n> Reply STOP to opt out',
      'STOP\nOn 3 May I bought two',
      '> Your cart waits',
      'No more emails\n-----\nactually only on weekends',
      'Stop\nsent from 3 shops at once I get them',
      'Stop it\n\nOn 3 May 2026 I asked you to send it again:\nhello',
    ],
  },
} as const

for (const [how, wishes] of Object.entries(WISHES))
  t.test(`wishes for messages are heard ${how}, and nothing else is taken for one`, async (t) => {
    for (const [wish, texts] of Object.entries(wishes))
      for (const text of texts) t.equal(String(wishOf(text)), wish, text)
  })

const SENTENCES = ['stop texting me', 'Bitte hören Sie auf', 'dejen de escribirme', 'stuur me geen sms meer']
const OF_ORDERS = ['my order', 'with my parcel', 'tomorrow', 'bei Ihnen im Laden', 'mi pedido', 'mijn pakket']

t.test('a refusal is none once it speaks of an order, and is one again with courtesies', async (t) => {
  for (const refusal of SENTENCES) {
    for (const courtesy of ['please', 'bitte', 'thanks', 'por favor'])
      for (const text of [
        `${courtesy}, ${refusal}`,
        `${refusal} ${courtesy}!`,
        `${courtesy} ${refusal}. ${refusal}`,
      ])
        t.equal(wishOf(text), 'stop', text)
    for (const order of OF_ORDERS)
      for (const text of [`${refusal} ${order}`, `${order} ${refusal}`]) t.equal(wishOf(text), null, text)
  }
})

/** Milliseconds of CPU time. */
function cpuOf(work: () => unknown): number {
  const from = process.cpuUsage()
  work()
  const { user, system } = process.cpuUsage(from)
  return (user + system) / 1_000
}

const REPEATED = ['paren ya', ...Object.values(WISHES).flatMap(({ stop, start }) => [...stop, ...start])]

t.test('no text takes long, whatever it says how often', async (t) => {
  for (const text of REPEATED)
    for (let times = 1; times * (text.length + 1) < 100; times++) {
      const long = `${`${text} `.repeat(times)}x`
      const took = cpuOf(() => wishOf(long))
      t.ok(took < 50, `${long}: ${took} ms`)
    }
})
