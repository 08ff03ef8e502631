import { readFileSync } from 'node:fs'
import { expect } from 'chai'
import { queryRoutes } from '#src/compose/query-routes.ts'
import { limits, type Config } from '#src/config.ts'
import { createBareAddressRoutes } from '#src/ingest/otlp.ts'
import { createIngestRoutes } from '#src/ingest/routes.ts'
import type { JsonObject } from '#src/lib/json.ts'
import { createOpenApiDocument } from '#src/openapi/document.ts'
import { createFakeDirectory } from '#test/support/fake-directory.ts'
import { runProgram } from '#test/support/run-program.ts'
import { openApi } from './openapi-schema.ts'

describe('the OpenAPI document', () => {
  const document = createOpenApiDocument('1.2.3')
  const parsed = openApi.parse(document)
  const operations = Object.entries(parsed.paths).flatMap(([path, item]) =>
    Object.entries(item).flatMap(([method, operation]) =>
      operation === undefined ? [] : [{ method, path, ...operation }],
    ),
  )

  it('is of the form that OpenAPI 3.1 asks for', () => {
    expect(openApi.safeParse(document).error?.issues).to.equal(undefined)
    expect(openApi.safeParse({ ...document, path: {} }).success, 'a form that lets everything pass').to.equal(false)
  })

  it('has the eight endpoints and no ninth', () => {
    expect(operations.map(({ method, path }) => `${method} ${path}`)).to.have.members([
      'post /api/rum/v1/ingest',
      'post /api/logs/v1/ingest',
      'post /api/traces/v1/otlp',
      'get /api/app/traces/search',
      'get /api/app/correlation',
      'get /api/app/logs/search',
      'get /app/logs/export',
      'get /api/v1/traces',
    ])
  })

  it('has every route that is no page of the app, but for what is taken of senders that append to an address', () => {
    const { view: directory } = createFakeDirectory()
    const ingest = { directory, partitions: [{ stream: {} }], limits } as never
    const query = { secrets: { pepper: 'x' }, directory } as never
    const routes = [...createIngestRoutes(ingest), ...queryRoutes({} as Config, query), ...createBareAddressRoutes()]
    const isPage = (path: string): boolean =>
      path === '/' || (/^\/app(?:\/|$)/.test(path) && path !== '/app/logs/export')
    const others = routes
      .filter(({ path }) => !isPage(path))
      .map(({ method, path }) => `${method.toLowerCase()} ${path}`)
    expect(others).to.have.members([
      ...operations.map(({ method, path }) => `${method} ${path}`),
      'options /api/rum/v1/ingest',
      ...['/v1/traces', '/v1/metrics', '/v1/logs'].flatMap((end) => [`post /api/traces/v1/otlp${end}`, `post ${end}`]),
    ])
  })

  it('names each operation once, each parameter once, and only schemas and credentials that there are', () => {
    const ids = operations.map(({ operationId }) => operationId)
    expect(new Set(ids).size).to.equal(ids.length)
    for (const { operationId, parameters = [], security } of operations) {
      const names = parameters.map(({ name }) => name)
      expect(new Set(names).size, operationId).to.equal(names.length)
      for (const scheme of security.flatMap((one) => Object.keys(one))) {
        expect(parsed.components.securitySchemes, operationId).to.have.property(scheme)
      }
    }
    const references = [...JSON.stringify(document).matchAll(/"\$ref":"#\/components\/schemas\/(\w+)"/g)].map(
      ([, id]) => id,
    )
    expect(new Set(references)).to.deep.equal(new Set(Object.keys(parsed.components.schemas)))
  })

  it('says for each operation what it answers when it works, when it is refused and when it cannot be done', () => {
    for (const { operationId, method, responses } of operations) {
      expect(Object.keys(responses), operationId).to.include.members(['401', '405', '429', '503'])
      expect(
        Object.keys(responses).some((status) => status.startsWith('2')),
        operationId,
      ).to.equal(true)
      if (method === 'post')
        expect(Object.keys(responses), operationId).to.include.members(['403', '408', '413', '415'])
      expect(responses['503']?.headers, operationId).to.have.property('Retry-After')
      // Queries and exports share what a process holds as bodies do.
      expect(responses['503']?.description, operationId).to.contain('`overloaded`').and.to.contain('`unavailable`')
    }
  })

  it('names every media type that the contract does for bodies of logs', () => {
    const { content } = operations.find(({ operationId }) => operationId === 'ingestLogs')?.requestBody ?? {}
    expect(Object.keys(content ?? {})).to.have.members([
      'application/json',
      'application/x-ndjson',
      'application/jsonl',
      'application/stream+json',
      'application/msgpack',
      'application/x-msgpack',
      'text/plain',
      'application/x-www-form-urlencoded',
    ])
  })

  it('says that refusals of logs sent as protobuf are protobuf', () => {
    const { responses } = operations.find(({ operationId }) => operationId === 'ingestLogs') ?? {}
    for (const status of ['401', '403', '415'] as const) {
      const types = Object.keys(responses?.[status]?.content ?? {})
      expect(types, status).to.include.members(['application/problem+json', 'application/x-protobuf'])
    }
  })

  it('takes the parameters from what the handlers read', () => {
    const parametersOf = (id: string) => operations.find(({ operationId }) => operationId === id)?.parameters ?? []
    for (const [id, usual, maximum] of [
      ['searchTraces', 20, 200],
      ['searchLogs', 100, 1_000],
      ['listTraces', 50, 100],
    ] as const) {
      const limit = parametersOf(id).find(({ name }) => name === 'limit')
      expect(limit?.schema, id).to.deep.equal({ type: 'integer', minimum: 1, maximum, default: usual })
    }
    const names = parametersOf('searchLogs').map(({ name }) => name)
    expect(names).to.include.members([
      'q',
      'level',
      'service',
      'trace_id',
      'session_id',
      'from',
      'to',
      'order',
      'fields',
    ])
    expect(names).to.include.members(['cursor', 'around', 'before', 'after', 'include'])
  })

  it('tells of exports what only those have to whom a page shows their links: the workspace of the page, and pages', () => {
    const told = operations.flatMap(({ operationId, parameters = [], responses }) =>
      parameters.some(({ name }) => name === 'shown_in') ? [[operationId, Object.keys(responses)] as const] : [],
    )
    expect(told.map(([id]) => id)).to.deep.equal(['exportLogs'])
    expect(told[0]?.[1]).to.include.members(['200', '303', '403', '409'])
  })

  it('tells no bounds of integers that are only those of a double, and those that are meant', () => {
    const text = JSON.stringify(document)
    expect(text).to.not.include(String(Number.MAX_SAFE_INTEGER))
    expect(text).to.include('"type":"integer","minimum":0}')
  })

  it('offers the servers of a base URL, and asks for bodies where there are any', () => {
    expect(document['servers']).to.deep.include.members([
      { url: '{base_url}', variables: { base_url: { default: 'http://localhost:8080' } } },
    ])
    for (const { method, requestBody } of operations) {
      expect(requestBody?.required).to.equal(method === 'post' ? true : undefined)
    }
  })

  it('is what npm run openapi prints', async () => {
    const { version, scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as {
      version: string
      scripts: Record<string, string>
    }
    expect(scripts['openapi']).to.equal('node infra/launch/launch.mjs src/openapi/print.ts')
    const printed = await runProgram(process.execPath, ['src/openapi/print.ts'])
    expect(JSON.parse(printed.join('\n')) as JsonObject).to.deep.equal(createOpenApiDocument(version))
  })
})
