import { limits, type Limits } from '#src/config.ts'

// Loaded before a server, in each of its processes: a body may take an hour, as while a slow machine starts two workers one after the other.
;(limits as { -readonly [Name in keyof Limits]: number }).bodyTimeoutMs = 3_600_000
