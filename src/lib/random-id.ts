import { randomUUID } from 'node:crypto'

/** 32 hex characters at random. */
export const randomId = (): string => randomUUID().replaceAll('-', '')
