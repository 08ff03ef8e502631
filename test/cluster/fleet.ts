import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { createFront } from '../../infra/cluster/front.ts'
import type { Role } from '../../infra/cluster/member.ts'
import type { Audited } from '../support/audit.ts'
import { cli } from '../support/cli.ts'
import type { ClusterOptions } from '../support/clusters.ts'
import type { FirstRun } from '../support/server.ts'
import { createTestCluster, type RoleProcess, type TestCluster } from './cluster-process.ts'

/** A place in the cluster, in which one process after the other may run. */
export type Place = Readonly<{
  role: Role
  process(): RoleProcess
  /** SIGKILL to all of its processes at once. */
  kill(): Promise<void>
  /** A new process where one was killed; resolves when it serves. */
  refill(): Promise<void>
}>

/** Processes of all roles behind one address, as a sender or a reader meets them. */
export type Fleet = Audited &
  Readonly<{
    test: TestCluster
    places(role: Role): readonly Place[]
    add(role: Role): Promise<Place>
    remove(): Promise<void>
  }>

/** With a first run. */
export async function createFleet(counts: Readonly<Record<Role, number>>, options?: ClusterOptions): Promise<Fleet> {
  const test = await createTestCluster(options)
  const all: Place[] = []
  const output: string[] = []
  const places = (role: Role): readonly Place[] => all.filter((place) => place.role === role)
  const add = async (role: Role): Promise<Place> => {
    let process = await test.start(role)
    const place: Place = {
      role,
      process: () => process,
      kill: () => process.kill(),
      refill: async () => {
        output.push(...process.lines)
        process = await test.start(role)
      },
    }
    all.push(place)
    return place
  }
  const addresses = (role: Role) => (): readonly string[] =>
    places(role).map((place) => new URL(place.process().baseUrl).host)
  const front = createFront({ ingest: addresses('ingest'), query: addresses('query') }).listen(0, '127.0.0.1')
  await once(front, 'listening')
  const baseUrl = `http://127.0.0.1:${(front.address() as AddressInfo).port}`
  const roles = Object.entries(counts) as [Role, number][]
  await Promise.all(roles.flatMap(([role, count]) => Array.from({ length: count }, () => add(role))))
  await cli(test, 'first-run', '--base-url', baseUrl)
  const firstRun = JSON.parse(await readFile(join(test.dataFolder, 'first-run.json'), 'utf8')) as FirstRun
  return {
    test,
    baseUrl,
    dataFolder: test.dataFolder,
    firstRun,
    get output() {
      return [...output, ...all.flatMap((place) => place.process().lines)]
    },
    places,
    add,
    remove: async () => {
      front.close()
      front.closeAllConnections()
      await test.remove()
    },
  }
}
