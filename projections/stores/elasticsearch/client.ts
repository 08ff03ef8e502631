import type { Elasticsearch } from './call.ts'

/**
 * `url`: `http(s)://user:password@host:port`, or those of several nodes with commas. Nothing is sent before the first call, which also checks the
 * server's version. It loads the driver as well, as much code as a process has without it: one that takes in, and most verbs, never ask.
 */
export function connectElasticsearch(url: string): Elasticsearch {
  let driver: Promise<Elasticsearch> | undefined
  const open = async (): Promise<Elasticsearch> => (await import('./driver.ts')).openDriver(url)
  return {
    send: async (call) => (await (driver ??= open())).send(call),
    close: async () => (await driver)?.close(),
  }
}
