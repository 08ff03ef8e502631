import type { Json } from '#src/lib/json.ts'

type BareConstructor = new () => Record<string, Json>

const Bare = function bare() {} as unknown as BareConstructor
Object.defineProperty(Bare, 'prototype', { value: Object.freeze(Object.create(null)) })

/**
 * An object that inherits no names, so that any name is legal in it, even `__proto__`. Its prototype is an empty, frozen object, not null: V8 stores
 * `Object.create(null)` as a hash table, which makes decoding take twice as long.
 */
export const createBareObject = (): Record<string, Json> => new Bare()
