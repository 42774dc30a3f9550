import { didYouMean } from '../model/nearest.ts'
import { refusal, shown } from '../segment/complaint.ts'
import { deadAddressIn } from './address.ts'
import { piecesOf } from './template.ts'
import { type Available, tokenOf, VARIABLES, variablesOf } from './variable.ts'

/**
 * Throws `bad_request` that begins with the path for what is no variable of this campaign, and
 * for an address that would lead nowhere.
 */
export function checkTemplate(template: string, path: string, available: Available): void {
  const known = variablesOf(available).map(({ name }) => name)
  for (const piece of piecesOf(template)) {
    if ('text' in piece) {
      const open = /\{\{|\}\}/.exec(piece.text)
      if (open)
        throw refusal(path, `${shown(open[0])} without the other pair of braces; a variable is {{name}}`)
      continue
    }
    const { variable } = piece
    if (known.includes(variable)) continue
    const missing = VARIABLES.find(({ name }) => name === variable)?.needs
    if (missing) throw refusal(path, `${tokenOf(variable)} needs ${NEEDS[missing]}`)
    const hint = didYouMean(variable, known).replace(/"(.*)"/, '"{{$1}}"')
    throw refusal(
      path,
      `${shown(tokenOf(variable))} is not a variable.${hint} Known: ${known.map(tokenOf).join(', ')}`,
    )
  }
  const dead = deadAddressIn(template)
  if (dead !== null) throw refusal(path, dead)
}

const NEEDS = {
  checkout: 'a trigger that tells of a checkout',
  discount: 'the campaign’s discount_id',
}
