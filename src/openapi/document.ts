import { z } from 'zod'
import type { RefusalCode } from '#src/events/refusal.ts'
import { statusOf, titleOf } from '#src/http/errors.ts'
import type { Json, JsonObject } from '#src/lib/json.ts'
import { operations, type Body, type Operation } from './operations.ts'

const bearer = (description: string): JsonObject => ({ type: 'http', scheme: 'bearer', description })

const securitySchemes: JsonObject = {
  publishableKey: bearer('Publishable key, `pk_live_…`: the only key that may stand in a page. Also as `X-Api-Key`.'),
  publishableKeyInQuery: {
    type: 'apiKey',
    in: 'query',
    name: 'key',
    description: 'The same key, for `navigator.sendBeacon`, which sets no headers.',
  },
  logsToken: bearer('Logs source token, `lt_…`, or a workspace API key with `logs:write`. Also as `X-Api-Key`.'),
  tracingToken: bearer('Tracing source token, `tt_…`. Also as `X-Api-Key`.'),
  apiKey: bearer('Workspace API key, `wk_…`. Also as `X-Api-Key`.'),
  session: {
    type: 'apiKey',
    in: 'cookie',
    name: 'throughline',
    description:
      'The session of a signed-in browser. Where BASE_URL is of https, or the server itself serves TLS, the cookie is named `__Host-throughline`.',
  },
}

const headers: Readonly<Record<string, string>> = {
  'Throughline-Position':
    'Where in the log this stands, `partition/position`: an answer whose `index.position` is at or above it shows it.',
  'X-Faro-Session-Status': 'For Faro, when it names its session.',
  'Content-Disposition': 'The name of the file.',
  'X-Export-Matched': 'How many records a whole export has.',
  'X-Query-Normalized':
    'The search as it was understood, percent-encoded; absent when it is longer than a header may be.',
  RateLimit: 'What is left of the policy, draft-ietf-httpapi-ratelimit-headers-10.',
  'RateLimit-Policy': 'The policy.',
  'WWW-Authenticate': 'Which credential is asked for.',
  Location: 'Where to go on.',
  Allow: 'The methods that there are.',
  'Retry-After': 'Seconds until it may be sent again, 1 to 4.',
}

/** Headers of refusals by their status. */
const refusalHeaders: Readonly<Record<number, readonly string[]>> = {
  401: ['WWW-Authenticate'],
  405: ['Allow'],
  429: ['Retry-After'],
  503: ['Retry-After'],
}

const headersOf = (names: readonly string[]): JsonObject =>
  Object.fromEntries(names.map((name) => [name, { description: headers[name] ?? '', schema: { type: 'string' } }]))

const reference = (id: string): string => `#/components/schemas/${id}`

/** The bounds of a double's integers say nothing to a reader. */
function plain(schema: { maximum?: number; minimum?: number }): void {
  if (schema.maximum === Number.MAX_SAFE_INTEGER) delete schema.maximum
  if (schema.minimum === Number.MIN_SAFE_INTEGER) delete schema.minimum
}

const options = {
  io: 'input',
  uri: reference,
  override: ({ jsonSchema }: { jsonSchema: object }) => plain(jsonSchema),
} as const

/** Every schema that has an id, by it. */
function schemas(): JsonObject {
  const { schemas: all } = z.toJSONSchema(z.globalRegistry, options)
  return Object.fromEntries(
    Object.entries(all).map(([id, { $id: _id, $schema: _schema, ...schema }]) => [id, schema as Json as JsonObject]),
  )
}

function idOf(schema: z.ZodType): string {
  const { id } = z.globalRegistry.get(schema) ?? {}
  if (id === undefined) throw new Error('a body of the API has no id')
  return id
}

function contentOf(body: Body): JsonObject {
  const content = Object.entries(body).map(([type, schema]): [string, JsonObject] => {
    if (schema === 'binary') return [type, {}]
    return [type, { schema: schema === 'text' ? { type: 'string' } : { $ref: reference(idOf(schema)) } }]
  })
  return Object.fromEntries(content)
}

function parametersOf(schema: z.ZodObject): Json {
  const { properties = {} } = z.toJSONSchema(schema, options)
  return Object.entries(properties).map(([name, property]): JsonObject => {
    const { description, examples, ...rest } = property as JsonObject
    const [example] = (examples ?? []) as readonly Json[]
    return {
      name,
      in: 'query',
      ...(description === undefined ? {} : { description }),
      schema: rest,
      ...(example === undefined ? {} : { example }),
    }
  })
}

function refusalsOf({ refusals, refusal }: Operation): JsonObject {
  const byStatus = Map.groupBy([...new Set<RefusalCode>(refusals)], statusOf)
  const responses = [...byStatus].map(([status, codes]): [string, JsonObject] => [
    String(status),
    {
      description: codes.map((code) => `\`${code}\`: ${titleOf(code)}`).join('. '),
      headers: headersOf(refusalHeaders[status] ?? []),
      content: contentOf(refusal),
    },
  ])
  return Object.fromEntries(responses)
}

function operationOf(operation: Operation): JsonObject {
  const { id, summary, security, parameters, request, success, pages = [] } = operation
  const responses = [success, ...pages].map(({ status, description, headers, body }): [string, JsonObject] => [
    String(status),
    { description, headers: headersOf(headers), content: contentOf(body) },
  ])
  return {
    operationId: id,
    summary,
    security: security.map((name) => ({ [name]: [] })),
    ...(parameters === undefined ? {} : { parameters: parametersOf(parameters) }),
    ...(request === undefined ? {} : { requestBody: { required: true, content: contentOf(request) } }),
    responses: { ...Object.fromEntries(responses), ...refusalsOf(operation) },
  }
}

/** The OpenAPI 3.1 document of the eight endpoints, from the schemas that their handlers are typed by and read with. */
export function createOpenApiDocument(version: string): JsonObject {
  const paths = operations.map((operation): [string, JsonObject] => [
    operation.path,
    { [operation.method]: operationOf(operation) },
  ])
  return {
    openapi: '3.1.1',
    info: { title: 'Throughline', version, license: { name: 'Apache 2.0', identifier: 'Apache-2.0' } },
    servers: [{ url: '{base_url}', variables: { base_url: { default: 'http://localhost:8080' } } }],
    paths: Object.fromEntries(paths),
    components: { schemas: schemas(), securitySchemes },
  }
}
