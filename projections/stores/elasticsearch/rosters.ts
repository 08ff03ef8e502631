import type { JsonObject } from '#src/lib/json.ts'
import { noRoster, type FollowedBuild, type Roster } from '../../index-store.ts'
import { numberIn, valuesIn } from './answer-parts.ts'
import type { Place } from './place.ts'
import { recordPath } from './records.ts'

const rosterId = (projection: string, partition: number): string => `roster:${projection}:${partition}`

function rosterOf(source: JsonObject): Roster {
  const followed = valuesIn(source['followed']) as unknown as readonly FollowedBuild[]
  const live = typeof source['live'] === 'string' ? source['live'] : undefined
  return { revision: numberIn(source['revision']), live, followed }
}

/** A roster and the condition under which it may be changed. */
async function knownRoster({ records, partition }: Place, projection: string) {
  const record = await records.read(rosterId(projection, partition))
  if (record === undefined) return { roster: noRoster, unchanged: { op_type: 'create' } }
  return { roster: rosterOf(record.source), unchanged: record.unchanged }
}

export const readRoster = async (place: Place, projection: string): Promise<Roster> =>
  (await knownRoster(place, projection)).roster

/** Compare-and-set: false if the roster has another revision by now. */
export async function writeRoster(place: Place, projection: string, roster: Roster): Promise<boolean> {
  const { elasticsearch, names, partition } = place
  const known = await knownRoster(place, projection)
  if (known.roster.revision !== roster.revision) return false
  const { status } = await elasticsearch.send({
    operation: 'change the roster of',
    subject: projection,
    method: 'PUT',
    path: recordPath(names, '_doc', rosterId(projection, partition)),
    query: known.unchanged,
    body: { kind: 'roster', projection, partition, ...roster, revision: roster.revision + 1 },
    accept: [409],
  })
  return status !== 409
}
