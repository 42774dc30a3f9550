import { writeFileSync } from 'node:fs'
import { OPS } from '../src/ops/all.ts'
import { openapiText } from '../src/http/openapi.ts'
writeFileSync('/tmp/openapi.json', openapiText(OPS, {baseUrl:'https://api.recoup.test', cdpUrl:'https://cdp.recoup.test', webhookUrl:'https://hooks.recoup.test'}))
