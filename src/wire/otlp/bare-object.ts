import type { Json } from '#src/lib/json.ts'

type BareConstructor = new () => Record<string, Json>

const Bare = function bare() {} as unknown as BareConstructor
Object.defineProperty(Bare, 'prototype', { value: Object.freeze(Object.create(null)) })

/**
 * An object that inherits no name, so that any name is legal in it, `__proto__` too. Its prototype is one empty, frozen object
 * instead of null: V8 keeps `Object.create(null)` as a hash table, which makes decoding take twice as long.
 */
export const createBareObject = (): Record<string, Json> => new Bare()
