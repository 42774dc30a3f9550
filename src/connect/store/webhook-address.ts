import type { Platform } from './connection.ts'

/** Path of the receiver, behind WEBHOOK_URL. */
export const webhookPath = (platform: Platform) => `/store/${platform}/webhooks`

/**
 * Where a store is to send webhooks; null: it takes none but https addresses. One with an API elsewhere than at its
 * domain may stand beside the service.
 */
export function webhookAddress(
  webhookUrl: string,
  { platform, shopDomain, apiOrigin }: { platform: Platform; shopDomain: string; apiOrigin: string },
): string | null {
  const address = `${webhookUrl}${webhookPath(platform)}`
  return address.startsWith('https:') || apiOrigin !== `https://${shopDomain}` ? address : null
}
