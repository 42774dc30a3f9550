import { either, oneOf, type Pattern } from './phrase.ts'

/** What somebody says before they refuse. */
export const NO_THANKS = oneOf(`
  no thanks, no thank you, no thx, nein, nein danke, non merci, no gracias, no grazie, nee, nee bedankt, nee dank je,
  nee dank u, não obrigado, não obrigada, nie dziękuję
`)

/** Phrases of a language, also without their apostrophes; 0 stands for one of its words for messages. */
function refusals(messages: string, phrases: string): Pattern {
  const spelled = `${phrases},${phrases.replaceAll("'", '')}`
  return oneOf(
    messages
      .split(',')
      .map((word) => spelled.replaceAll('0', word))
      .join(),
  )
}

/** Whole sentences that ask for no more messages. None may speak of anything else that can be stopped, such as an order. */
export const ENGLISH_REFUSALS = refusals(
  'messages, texts, text messages, sms, emails, e-mails, mails',
  `
    leave me alone, no further 0, i want to unsubscribe, i would like to unsubscribe, i'd like to unsubscribe,
    i want to opt out, i would like to opt out, i'd like to opt out, i want no more 0, i don't want any more 0,
    i don't want any 0, i don't want these 0, i don't want your 0, i don't want more 0, i do not want any more 0,
    i do not want any 0, i do not want these 0, i do not want your 0, i don't want to receive 0, i don't want to receive any 0,
    i don't want to receive any more 0, i don't want to receive these 0, i don't want to get 0, i don't want to get any more 0,
    i do not want to receive 0, i do not want to receive any 0, i do not want to receive any more 0,
    i do not want to receive these 0, stop sending me any 0, stop writing to me, stop writing me, don't write to me,
    do not write to me, don't send me any 0, don't send me any more 0, don't send me 0, do not send me any 0,
    do not send me any more 0, do not send me 0
    `,
)

export const REFUSALS = either(
  ENGLISH_REFUSALS,
  refusals(
    'SMS, Nachrichten, Mails, E-Mails, Emails, Werbung',
    `
    stoppen Sie das, stoppen Sie es, stoppen Sie dies, stoppen Sie die 0, stoppen Sie diese 0, stoppt das, stopp das,
    stoppen Sie, hören Sie auf, hören Sie auf damit, hören Sie damit auf, hören Sie auf mir zu schreiben,
    hören Sie auf mir 0 zu schicken, hören Sie auf mir 0 zu senden, hör auf, hör auf damit, hör damit auf,
    hör auf mir zu schreiben, hört auf, hört auf damit, hört damit auf, hört auf mir zu schreiben, aufhören,
    damit aufhören, lassen Sie das, lassen Sie mich in Ruhe, lass mich in Ruhe, lasst mich in Ruhe,
    keine weiteren 0, keine weitere 0, keine 0 mehr schicken, keine 0 mehr senden,
    schicken Sie mir keine 0 mehr, senden Sie mir keine 0 mehr, schreiben Sie mir keine 0 mehr,
    schickt mir keine 0 mehr, sendet mir keine 0 mehr, schick mir keine 0 mehr, schreiben Sie mir nicht mehr,
    schreibt mir nicht mehr, schreib mir nicht mehr, mir nicht mehr schreiben, nicht mehr schreiben,
    schicken Sie mir nichts mehr, senden Sie mir nichts mehr, schickt mir nichts mehr,
    kontaktieren Sie mich nicht mehr, ich möchte keine 0 mehr, ich will keine 0 mehr, ich möchte keine 0 mehr bekommen,
    ich will keine 0 mehr bekommen, ich möchte keine 0 mehr erhalten, ich will keine 0 mehr erhalten,
    ich möchte mich abmelden, melden Sie mich ab, tragen Sie mich aus
    `,
  ),
  refusals(
    'messages, SMS, textos, e-mails, mails, publicité, publicités, pub',
    `
    arrêtez ça, arrêtez cela, arrête ça, arrêtez les 0, arrêtez ces 0, arrêtez vos 0, arrêtez de m'écrire,
    arrêtez de me contacter, arrêtez de m'envoyer des 0, arrêtez de m'envoyer ces 0, arrêtez de m'envoyer vos 0,
    ne m'envoyez plus de 0, ne m'envoyez plus rien, ne m'écrivez plus, ne me contactez plus, laissez-moi tranquille,
    je ne veux plus de 0, je ne veux plus de vos 0, je ne veux plus recevoir de 0, je ne veux plus recevoir vos 0,
    je ne souhaite plus recevoir de 0, je ne souhaite plus recevoir vos 0, je veux me désabonner,
    je souhaite me désabonner
    `,
  ),
  refusals(
    'mensajes, SMS, correos, emails, e-mails, publicidad',
    `
    no me escriban más, no me escriba más, no me escribas más, no me envíen más 0, no me envíe más 0, no me envíes más 0,
    no me manden más 0, no me mande más 0, no me mandes más 0, no me contacten más, dejen de escribirme, deje de escribirme,
    dejen de enviarme 0, deje de enviarme 0, dejen de mandarme 0, deje de mandarme 0, paren, paren ya,
    paren de escribirme, paren de enviarme 0, paren de mandarme 0, no más 0, no quiero más 0, no quiero recibir 0,
    no quiero recibir más 0, no quiero sus 0, déjenme en paz, quiero darme de baja
    `,
  ),
  refusals(
    'messaggi, SMS, email, e-mail, mail, pubblicità',
    `
    smettetela, smettila, la smetta, smettete di scrivermi, smetta di scrivermi, smettila di scrivermi,
    smettetela di scrivermi, smettete di mandarmi 0, smetta di mandarmi 0, smettete di inviarmi 0, non scrivetemi più,
    non mi scrivete più, non mi scriva più, non mandatemi più 0, non mi mandate più 0, non inviatemi più 0,
    non mi inviate più 0, non contattatemi più, non voglio più 0, non voglio più ricevere 0, non voglio ricevere 0,
    non voglio ricevere più 0, niente più 0, lasciatemi in pace, voglio disiscrivermi
    `,
  ),
  refusals(
    `berichten, sms, sms'jes, smsjes, mails, e-mails, reclame`,
    `
    stop ermee, stop daarmee, stop hiermee, stop met sms'en, stop met smsen, stop met 0, stop met 0 sturen,
    stop met deze 0, stop met mij te sturen, stop met mailen, stop met schrijven, hou op, houd op, hou ermee op, houd ermee op,
    hou hiermee op, stuur mij geen 0 meer, stuur me geen 0 meer, stuur geen 0 meer, stuur me niets meer, geen 0 meer,
    ik wil geen 0 meer, ik wil geen 0 meer ontvangen, ik wil geen 0 meer krijgen, ik wil me afmelden, laat me met rust,
    laat mij met rust, schrijf me niet meer
    `,
  ),
  refusals(
    'mensagens, SMS, e-mails, emails, publicidade',
    `
    parem, parem com isso, pare com isso, parem de me enviar 0, pare de me enviar 0, parem de enviar 0, pare de enviar 0,
    parem de me mandar 0, pare de me mandar 0, parem de mandar 0, pare de mandar 0, parem de me escrever, pare de me escrever,
    não me enviem mais 0, não me envie mais 0, não me mandem mais 0, não me mande mais 0, não enviem mais 0,
    não me escrevam mais, não me contactem mais, não me contatem mais, não quero mais 0, não quero mais receber 0,
    não quero receber mais 0, não quero receber 0, deixem-me em paz, me deixem em paz, quero cancelar a inscrição
    `,
  ),
  refusals(
    'wiadomości, SMS-ów, SMSów, maili, e-maili, reklam',
    `
    przestańcie, przestańcie pisać, przestańcie do mnie pisać, przestać, przestać pisać, przestać do mnie pisać,
    nie pisać, nie pisać więcej, więcej nie pisać, nie piszcie więcej, nie piszcie do mnie, nie piszcie do mnie więcej,
    nie wysyłać 0, nie wysyłać więcej 0, nie wysyłać mi 0, nie wysyłać mi więcej 0, nie wysyłajcie 0,
    nie wysyłajcie mi 0, nie wysyłajcie mi więcej 0, nie wysyłajcie więcej 0, nie chcę 0, nie chcę więcej 0,
    nie chcę otrzymywać 0, nie chcę otrzymywać więcej 0, nie chcę już 0, mnie wypisać, wypiszcie mnie, więcej 0 nie chcę
    `,
  ),
)
