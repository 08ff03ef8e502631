import { isJsonObject, type Json, type JsonObject } from '#src/lib/json.ts'

// Parts of an answer, in the type that is expected; empty if they have another.

type Part = Json | undefined

export const objectIn = (part: Part): JsonObject => (isJsonObject(part) ? part : {})
export const objectsIn = (part: Part): readonly JsonObject[] =>
  Array.isArray(part) ? (part as readonly Json[]).map(objectIn) : []
/** The hits of a search. */
export const hitsIn = (answer: JsonObject): readonly JsonObject[] => objectsIn(objectIn(answer['hits'])['hits'])
/** The buckets of an aggregation. */
export const bucketsIn = (part: Part): readonly JsonObject[] => objectsIn(objectIn(part)['buckets'])
export const valuesIn = (part: Part): readonly Json[] => (Array.isArray(part) ? (part as readonly Json[]) : [])
export const textIn = (part: Part): string => (typeof part === 'string' ? part : '')
export const numberIn = (part: Part): number =>
  typeof part === 'number' || typeof part === 'bigint' ? Number(part) : 0
export const bigintIn = (part: Part): bigint =>
  typeof part === 'number' || typeof part === 'bigint' ? BigInt(part) : 0n
