export type Headers = Readonly<Record<string, string>>
/** What the server sent. `code`: its status, if it sent one instead of a message; else 0. */
export type Received = Readonly<{ code: number; data: Uint8Array; header(name: string): string }>

/**
 * A connection to NATS that reconnects for ever; all that this folder needs of the client. Without a connection every request fails at once
 * instead of waiting in memory. Requests under way when it breaks fail too, with an unknown outcome. All failures are TransientError.
 */
export type Nats = Readonly<{
  /** The largest message that the server accepts, headers included; of the last server while there is no connection. */
  payloadBytesMax(): number
  /** Of the server that is connected now, or was last. `cluster`: it is one of several. */
  server(): Readonly<{ id: string; cluster: boolean }>
  /** The first answer. One with the status 503 means that nobody listens to the subject. */
  request(subject: string, data: Uint8Array | string, fields?: Headers): Promise<Received>
  /**
   * All answers, up to and including the first one with a status. `onLate` is called if none has come within a second, as from one of several
   * servers that hangs; they are waited for all the same.
   */
  requestMany(subject: string, data: string, onLate: () => void): Promise<readonly Received[]>
  /** Sends without waiting for an answer. */
  publish(subject: string, data: Uint8Array, fields?: Headers): void
  /** Resolves when the server has the subscription. */
  subscribe(subject: string, listener: (received: Received) => void): Promise<() => void>
  /** Called after a reconnect: messages sent meanwhile were missed. */
  onReconnect(listener: () => void): () => void
  close(): Promise<void>
}>
