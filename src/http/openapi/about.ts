/** The opening text of the reference: what holds for every operation. */
export const ABOUT = `Recoup collects what happens in an online store and serves customers, segments and campaigns over REST and MCP.

## Authentication

Send \`Authorization: Bearer <API key or sign-in token>\`. An API key (\`svc_…\`) belongs to one brand and carries the scopes chosen when it was created; any one of the scopes listed with an operation is enough. Operations marked as sign-in only refuse API keys with 403. What belongs to another brand behaves exactly as what does not exist: 404.

## Requests and answers

- Bodies are JSON, at most 1 MB, 64 levels deep, and with at most 60,000 values and 5,000 names of members. An unknown field or parameter is refused with 400.
- Names are snake_case. Times are ISO 8601 in UTC. Money is a decimal string with its \`currency_code\` beside it.
- A list is \`{ data, next_cursor }\`. While \`next_cursor\` is not null, pass it as \`cursor\` with the same filters and limit. A cursor is opaque. No list takes \`offset\`.
- A single record is the object itself.
- Every answer carries \`X-Request-Id\`; one that you send (up to 128 printable characters) is sent back.
- Writes are not idempotent: after a time-out, read before you try again.

## Errors

An error is \`{ "error": { "code", "message" } }\`. Check the status and the code; the message is for people and names the field that is wrong.

- 400, 401, 403, 404: change the request first.
- 409: for a stale version read again; for a duplicate choose another name; for \`limit_reached\` remove something.
- 429: wait as many seconds as \`Retry-After\` says.
- 500, 503: try again with exponential backoff and jitter.

## MCP

Operations with an MCP tool can be called by AI assistants at \`/mcp\` with the same credentials, fields and answers. A path's \`{id}\` is called after its noun there, such as \`segment_id\`. A tool's failure is a result with \`isError\` whose text starts with the error code.

## Versions

\`/v1\` is the version of the API; the version of this document is the date of the newest entry in the [changelog](/docs/changelog). Breaking changes have no aliases: an old path answers 404, an old field or parameter 400.
`
