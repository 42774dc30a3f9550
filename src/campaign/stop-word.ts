const ENGLISH = `a about after again all also am an and any are as at be because been before being but by can cant could
  did didnt do does dont down each few for from get give got had has have havent having he hello her here hey hi him his
  hope how i id if ill im in into is isnt it its ive just know let like lot made make many maybe me more most much my need
  no not now of off oh ok okay on once one only or other our out over own please pls really right said same say see she
  should so some still such sure take tell than thank thanks thanx that thats the their them then there these they thing
  think this those thx to too u under until up ur us use very want was wasnt we well were what whats when where which
  while who why will wish with wont would yeah yes yet you youre your`
const GERMAN = `aber alle als also am an auch auf aus bei bin bis bitte da danke dann das dass dein dem den der des die dies
  doch du ein eine einem einen einer es euch fuer für habe haben hallo hat ich ihr im in ist ja kann kein keine man mehr mein
  meine mich mir mit nach nein nicht noch nun nur ob oder schon sehr sich sie sind so und uns von vor war was wenn wer wie
  wir wird zu zum zur`
const FRENCH = `au aux avec bonjour ce ces cette comme dans de des du elle en est et être il ils je la le les leur ma mais
  me merci mes moi mon ne nos notre nous on ou par pas pour plus que qui sa se ses si son sur ta te tes toi ton tu un une
  vos votre vous`
const SPANISH = `al con como cuando de del donde el ella en es esta este favor gracias ha hay hola la las lo los mas más me
  mi mis muy no nos para pero por que qué se si sí sin son su sus te tengo tu un una uno y ya yo`

/** Words that say nothing of what a message is about. */
export const STOP_WORDS: ReadonlySet<string> = new Set(
  [ENGLISH, GERMAN, FRENCH, SPANISH].flatMap((words) => words.split(/\s+/)),
)
