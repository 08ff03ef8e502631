import { readFileSync } from 'node:fs'
import { createOpenApiDocument } from './document.ts'

// `npm run openapi`: prints the document. It is not served: the documented API has eight paths.
const packageFile = new URL('../../package.json', import.meta.url)
const { version } = JSON.parse(readFileSync(packageFile, 'utf8')) as { version: string }
console.log(JSON.stringify(createOpenApiDocument(version), null, 2))
