const NUMBER = /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]?\d+))?$/i

/** A number of JSON without exponent and without zeros that say nothing: equal numbers are the same text. */
export function writtenOut(number: string): string {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = NUMBER.exec(number) ?? []
  const point = whole.length + Number(exponent)
  const digits = `${'0'.repeat(Math.max(0, 1 - point))}${whole}${fraction}`.padEnd(point, '0')
  const at = Math.max(1, point)
  const integer = digits.slice(0, at).replace(/^0+(?=\d)/, '')
  const decimals = withoutLastZeros(digits.slice(at))
  const text = decimals === '' ? integer : `${integer}.${decimals}`
  return text === '0' ? text : `${sign}${text}`
}

/** A pattern would begin anew at each of a million zeros that are not the last. */
function withoutLastZeros(digits: string): string {
  let end = digits.length
  while (digits[end - 1] === '0') end--
  return digits.slice(0, end)
}
