/** What the check reads of a request. */
export interface BrowserRequest {
  readonly method: string
  /** Value of a header by its lower-case name. */
  header(name: string): string | undefined
}

const SAFE = ['GET', 'HEAD', 'OPTIONS']

export const changesState = ({ method }: BrowserRequest) => !SAFE.includes(method)

/**
 * Whether a page of ours sent the request: by what browsers say of it and no page can forge. A request that says
 * neither is not from one.
 */
export const isSameOrigin = (request: Pick<BrowserRequest, 'header'>, origin: string): boolean =>
  request.header('sec-fetch-site') === 'same-origin' || request.header('origin') === origin
