import type { IndexName } from '../index-store.ts'

/** Whether this is the name of a build of the projection, of whatever version (projections/build-name.ts). */
export const isBuildOf = (projection: string, index: IndexName): boolean =>
  index.startsWith(`${projection}-v`) && /^v\d+-\d{3,}$/.test(index.slice(projection.length + 1))
