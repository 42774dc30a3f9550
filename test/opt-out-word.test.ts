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
