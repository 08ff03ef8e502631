// A server ends at a rejection that nobody handles, as Node has it. Mocha passes over it, so the test that meets it has to fail by this.

/** As a listener of `unhandledRejection`. */
export function fail(error: unknown): never {
  throw error
}

/** As Mocha takes them from a file that it requires: in parallel it lets go of all listeners after each file. */
export const mochaHooks = {
  beforeAll: (): void => void process.on('unhandledRejection', fail),
  afterAll: (): void => void process.off('unhandledRejection', fail),
}
