import type { DayHearers } from '#projections/stores/elasticsearch/place.ts'

/** What the operator is told of indices; `names`: of the indices, with commas. */
const said: Readonly<Record<keyof DayHearers, (names: string) => string>> = {
  onLost: (names) =>
    `indices of days are gone from Elasticsearch, or have lost a shard: ${names}; answers that may lack something of them say ` +
    'so, until "throughline rebuild" of their projection folds them again from the log',
  onClosed: (names) =>
    `indices of days are closed in Elasticsearch: ${names}; answers that may lack something of them say so, ` +
    'and what belongs there waits, until they are opened again (POST /INDEX/_open)',
  onPassedOver: (names) =>
    'indices of days have an alias named like a copy of a day, for which Elasticsearch leaves them out of searches: ' +
    `${names}; answers that may lack something of them say so, until that alias is removed (DELETE /INDEX/_alias/ALIAS)`,
  onLazy: (names) =>
    'indices of days were set to answer before they sync, so that a crash of Elasticsearch loses what is counted as folded: ' +
    `${names}; index.translog.durability is set back to request`,
  onPiped: (names) =>
    `indices of days had a pipeline, which may have changed or dropped what was written to them: ${names}; ` +
    'index.final_pipeline is set back to _none; verify the projection, and rebuild it where it differs',
  onBeside: (names) =>
    `indices that are none of this installation stand among its own, such as copies of them: ${names}; ` +
    'no erasure or retention reaches them, and they are counted where their names do not go on with -, _ or . behind the day: ' +
    'remove them, or give them names that do not begin with INDEX_PREFIX-',
}

/** Prints a line for each thing that is noticed of the indices of a partition. */
export function dayHearers(partition: number, print: (line: string) => void): DayHearers {
  const hear = (name: keyof DayHearers) => (indices: readonly string[]) =>
    print(`partition ${partition}: ${said[name](indices.join(', '))}`)
  return {
    onLost: hear('onLost'),
    onClosed: hear('onClosed'),
    onPassedOver: hear('onPassedOver'),
    onLazy: hear('onLazy'),
    onPiped: hear('onPiped'),
    onBeside: hear('onBeside'),
  }
}
