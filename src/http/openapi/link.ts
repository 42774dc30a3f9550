import { LINK_PATH } from '../../campaign/link.ts'
import { STATUS } from '../../errors.ts'
import { errorAnswer } from './answers.ts'
import type { Components } from './components.ts'
import type { DocumentedRoute } from './document.ts'

const PAGE = { 'text/html': { schema: { type: 'string' } } }
const CODE = {
  name: 'code',
  in: 'path',
  required: true,
  description: 'The code of the link.',
  schema: { type: 'string', maxLength: 12 },
  example: '4fK9aZq0LmX7',
}
const OPEN = { security: [], 'x-scopes': [], 'x-sign-in': false, 'x-mcp-tool': false }
const CODES = [
  'bad_request',
  'payload_too_large',
  'unsupported_media_type',
  'rate_limited',
  'internal',
  'unavailable',
] as const

/** GET and POST /t/{code}: shortened links of messages. */
export const linkDocumented = (components: Components): DocumentedRoute[] => {
  const answers = {
    404: {
      description: 'No link has this code, or it leads nowhere any more.',
      headers: components.requestId(),
      content: PAGE,
    },
    // Of these, too, a person sees a page.
    ...Object.fromEntries(
      CODES.map((code) => [STATUS[code], { ...errorAnswer([code], components), content: PAGE }]),
    ),
  }
  return [
    {
      route: `GET ${LINK_PATH}{code}`,
      host: 'base',
      operation: {
        operationId: 'follow_link',
        tags: ['Campaigns'],
        summary: 'Follow a link of a message',
        description:
          'Redirects to where the link leads, and records the click as `link_clicked`. An opt-out link unsubscribes at once and shows a page that takes it back; once it was taken back, the page asks first. Programs that are no browsers of people (by their User-Agent, or Sec-Purpose) and HEAD requests count as nobody.',
        ...OPEN,
        parameters: [CODE],
        responses: {
          200: {
            description: 'A page: the contact is unsubscribed, or is asked.',
            headers: components.requestId(),
            content: PAGE,
          },
          302: {
            description: 'To where the link leads.',
            headers: {
              ...components.requestId(),
              Location: { required: true, schema: { type: 'string', format: 'uri' } },
            },
          },
          ...answers,
        },
      },
    },
    {
      route: `POST ${LINK_PATH}{code}`,
      host: 'base',
      operation: {
        operationId: 'answer_link',
        tags: ['Campaigns'],
        summary: 'Unsubscribe by a link',
        description:
          'What the page of an opt-out link and the one-click unsubscription of mail programs (RFC 8058) send.',
        ...OPEN,
        parameters: [CODE],
        requestBody: {
          required: false,
          content: {
            'application/x-www-form-urlencoded': {
              schema: {
                type: 'object',
                properties: {
                  wish: {
                    type: 'string',
                    enum: ['stop', 'start'],
                    description: 'start: subscribe again; all else unsubscribes.',
                  },
                },
                additionalProperties: {},
              },
            },
          },
        },
        responses: {
          200: {
            description: 'A page: what holds from now on.',
            headers: components.requestId(),
            content: PAGE,
          },
          ...answers,
        },
      },
    },
  ]
}
