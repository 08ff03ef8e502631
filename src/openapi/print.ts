import { ownVersion } from '#src/lib/own-version.ts'
import { createOpenApiDocument } from './document.ts'

// `npm run openapi`: prints the document. It is not served: the documented API has eight paths.
console.log(JSON.stringify(createOpenApiDocument(ownVersion()), null, 2))
