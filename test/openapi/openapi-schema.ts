import { z } from 'zod'

// What OpenAPI 3.1 lets stand where, as far as our document uses it. Strict: a misplaced or misspelt member fails.
// Source: OpenAPI Specification 3.1.1, section 4.8; JSON Schema 2020-12.

const text = z.string().min(1)
const type = z.enum(['string', 'integer', 'number', 'boolean', 'object', 'array', 'null'])

const jsonSchema: z.ZodType = z.lazy(() =>
  z.strictObject({
    $ref: z
      .string()
      .regex(/^#\/components\/schemas\/\w+$/)
      .optional(),
    type: z.union([type, z.array(type)]).optional(),
    description: text.optional(),
    default: z.unknown().optional(),
    enum: z.array(z.string()).min(1).optional(),
    const: z.boolean().optional(),
    pattern: text.optional(),
    minLength: z.number().optional(),
    maxLength: z.number().optional(),
    minimum: z.number().optional(),
    maximum: z.number().optional(),
    items: jsonSchema.optional(),
    minItems: z.number().optional(),
    maxItems: z.number().optional(),
    properties: z.record(text, jsonSchema).optional(),
    required: z.array(text).optional(),
    propertyNames: jsonSchema.optional(),
    additionalProperties: jsonSchema.optional(),
    anyOf: z.array(jsonSchema).min(2).optional(),
  }),
)

const header = z.strictObject({ description: text, schema: jsonSchema })
const content = z.record(
  z.string().regex(/^[a-z]+\/[a-z0-9.+-]+(; charset=utf-8)?$/),
  z.strictObject({ schema: jsonSchema.optional() }),
)
const response = z.strictObject({ description: text, headers: z.record(text, header), content })

const parameter = z.strictObject({
  name: text,
  in: z.literal('query'),
  description: text.optional(),
  schema: jsonSchema,
  example: z.unknown().optional(),
})

const operation = z.strictObject({
  operationId: z.string().regex(/^[a-z][A-Za-z]+$/),
  summary: text,
  security: z.array(z.record(text, z.array(z.string()))).min(1),
  parameters: z.array(parameter).optional(),
  requestBody: z.strictObject({ required: z.boolean(), content }).optional(),
  responses: z.record(z.string().regex(/^[2-5]\d\d$/), response),
})

const securityScheme = z.union([
  z.strictObject({ type: z.literal('http'), scheme: z.literal('bearer'), description: text }),
  z.strictObject({
    type: z.literal('apiKey'),
    in: z.enum(['query', 'header', 'cookie']),
    name: text,
    description: text,
  }),
])

export const openApi = z.strictObject({
  openapi: z.string().regex(/^3\.1\.\d+$/),
  info: z.strictObject({
    title: text,
    version: z.string().regex(/^\d+\.\d+\.\d+/),
    license: z.strictObject({ name: text, identifier: text }),
  }),
  servers: z.array(z.strictObject({ url: text, variables: z.record(text, z.strictObject({ default: text })) })),
  paths: z.record(
    z.string().startsWith('/'),
    z.strictObject({ get: operation.optional(), post: operation.optional() }),
  ),
  components: z.strictObject({
    schemas: z.record(z.string().regex(/^[A-Za-z0-9._-]+$/), jsonSchema),
    securitySchemes: z.record(text, securityScheme),
  }),
})
