/** A condition for rows of these customers, written out: then whole row groups are passed over. */
export const isOneOf = (customers: readonly number[], column: 'customer' | 'subject' = 'customer') =>
  `${column} in (${customers.map(Math.trunc).join(', ') || 'null'})`
