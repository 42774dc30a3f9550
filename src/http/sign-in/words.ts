interface Words {
  /** What whoever has the scope can do. */
  says: string
  changes: boolean
}

const see = (says: string): Words => ({ says, changes: false })
const change = (says: string): Words => ({ says, changes: true })

/** Scopes as a person reads them who is asked to grant them. */
export const SCOPE_WORDS: Readonly<Record<string, Words>> = {
  'brand:read': see('The brand’s profile'),
  'customers:read': see('Customers, what they did and what they bought'),
  'commerce:read': see('Orders, subscriptions and products'),
  'segments:read': see('Segments and who is in them'),
  'conversations:read': see('Conversations and messages with customers'),
  'contacts:read': see('Contacts'),
  'campaigns:read': see('Campaigns, their messages and discounts'),
  'stats:read': see('Performance and recovered sales'),
  'insights:read': see('What conversations are about'),
  'providers:read': see('Data sources and their events'),
  'integrations:read': see('Connected apps'),
  'segments:write': change('Create, change and archive segments'),
  'campaigns:write': change('Create campaigns and change their status'),
  'providers:write': change('Add, change and remove data sources'),
  'keys:manage': change(
    'Create API keys for any access, which last after this app is disconnected, and revoke keys (administrators only)',
  ),
}
