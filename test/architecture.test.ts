import { globSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { expect } from 'chai'

/** Who may import whom: DESIGN's table as data. First match wins; `may` names files or folders; `*` is anything, within a path one name. */
type Rule = Readonly<{ room: string; may: readonly string[] }>

/** A fold and its collections; writing and reading an index; reading a whole build. */
const ports = ['projections/projection.ts', 'projections/index-store.ts', 'projections/index-audit.ts']

/** Rooms beside each other: what all of them may import, and what one may that the others may not. */
const roomsOf = (
  parent: string,
  shared: readonly string[],
  own: Readonly<Record<string, readonly string[]>>,
): readonly Rule[] =>
  Object.entries(own).map(([name, more]) => {
    const room = `${parent}/${name}`
    return { room, may: [room, ...shared, ...more, 'src/events', 'src/lib'] }
  })

/** What pages get their data from. */
const besideApp = [
  'src/http',
  'src/directory',
  'src/query/searches.ts',
  'projections/*/query.ts',
  'projections/index-store.ts',
]
const rules: readonly Rule[] = [
  { room: 'src/main.ts', may: ['*'] },
  { room: 'src/compose.ts', may: ['*'] },
  { room: 'src/compose', may: ['*'] },
  { room: 'src/config.ts', may: ['src/directory/directory.ts', 'src/lib'] },
  { room: 'src/lib', may: ['src/lib'] },
  { room: 'src/events', may: ['src/events', 'src/lib'] },
  { room: 'src/wire', may: ['src/wire', 'src/events', 'src/lib'] },
  { room: 'streams', may: ['streams', 'src/events', 'src/lib'] },
  // Who reads and who writes meet in the files alone: what both know of these lies beside their rooms.
  ...roomsOf('projections/stores/sqlite', ['projections/stores/sqlite/*.ts', 'projections/stores/*.ts', ...ports], {
    fts5: [],
    reading: ['projections/stores/sqlite/fts5'],
    writing: [],
    auditing: ['projections/stores/sqlite/fts5'],
  }),
  {
    room: 'projections/stores',
    may: [
      'projections/stores',
      'projections/index-store.ts',
      'projections/index-audit.ts',
      'projections/projection.ts',
      'src/events',
      'src/lib',
    ],
  },
  {
    room: 'projections/reading',
    may: [
      'projections/reading',
      ...ports,
      'projections/stores/pattern.ts',
      'streams/stream.ts',
      'src/wire/logs/aliases.ts',
      'src/events',
      'src/lib',
    ],
  },
  // A fold sees no log, no projector and no build; of the other projections, only correlation reads any.
  ...roomsOf('projections', [...ports, 'projections/reading', 'projections/stores/order.ts'], {
    traces: [],
    logs: ['src/wire/logs'],
    correlation: ['projections/traces', 'projections/logs'],
    allowance: [],
  }),
  // Which builds there are is decided by rosters alone; whoever folds, cuts or replaces builds asks here.
  { room: 'projections/rosters', may: ['projections/rosters', ...ports, 'src/events', 'src/lib'] },
  {
    room: 'projections/folding',
    may: [
      'projections/folding',
      ...ports,
      'projections/rosters',
      'projections/stores/row.ts',
      'streams/stream.ts',
      'streams/follow.ts',
      'src/wire',
      'src/events',
      'src/lib',
    ],
  },
  {
    room: 'projections/retention',
    may: [
      'projections/retention',
      ...ports,
      'projections/folding/seen-events.ts',
      'projections/folding/dead-letters.ts',
      'projections/rosters',
      'streams/stream.ts',
      'src/events',
      'src/lib',
    ],
  },
  {
    room: 'projections/builds',
    may: [
      'projections/builds',
      ...ports,
      'projections/rosters',
      'projections/folding',
      'projections/retention/first-days.ts',
      'streams/stream.ts',
      'streams/follow.ts',
      'src/events',
      'src/lib',
    ],
  },
  {
    room: 'projections',
    may: ['projections', 'streams/stream.ts', 'streams/follow.ts', 'src/wire', 'src/events', 'src/lib'],
  },
  { room: 'src/directory', may: ['src/directory', 'streams/stream.ts', 'streams/follow.ts', 'src/events', 'src/lib'] },
  { room: 'src/http', may: ['src/http', 'src/lib', 'src/events/refusal.ts', 'src/directory/directory.ts'] },
  {
    room: 'src/ingest',
    may: ['src/ingest', 'streams/stream.ts', 'src/wire', 'src/events', 'src/http', 'src/directory', 'src/lib'],
  },
  {
    room: 'src/query',
    may: [
      'src/query',
      'projections/*/query.ts',
      'projections/index-store.ts',
      'src/events',
      'src/http',
      'src/directory',
      'src/lib',
    ],
  },
  ...roomsOf('src/app', ['src/app/*.ts', ...besideApp], {
    account: ['src/app/guides'],
    search: [],
    trace: ['src/app/search'],
    map: ['src/app/search'],
  }),
  { room: 'src/app', may: ['src/app', ...besideApp, 'src/events', 'src/lib'] },
  {
    room: 'src/operations',
    may: ['src/operations', 'src/http', 'streams/stream.ts', 'projections/index-store.ts', 'src/events', 'src/lib'],
  },
  { room: 'src/openapi', may: ['src/openapi', 'src/query', 'src/http/errors.ts', 'src/events', 'src/lib'] },
  {
    room: 'src/cli',
    may: [
      'src/cli',
      'projections',
      'streams',
      'src/directory',
      'src/events',
      'src/lib',
      // What another installation's ingest answers.
      'src/wire/otlp/reply.ts',
    ],
  },
  { room: 'infra', may: ['infra'] },
]

/** Limits travel as a type; their values come from compose.ts. */
const typeOnlyEverywhere = ['src/config.ts']

/** Packages that stay at home: which rooms may import them. */
const homes: Readonly<Record<string, readonly string[]>> = {
  'node:sqlite': ['streams/sqlite', 'projections/stores/sqlite'],
  nats: ['streams/jetstream'],
  '@elastic/elasticsearch': ['projections/stores/elasticsearch'],
  protobufjs: ['src/wire/otlp'],
  testcontainers: ['infra/engines'],
  koa: ['src/http'],
  '@koa/router': ['src/http'],
  'koa-session': ['src/http'],
}

/** Files that may make a WorkspaceId: who has checked a credential, a session, or a stored event. */
const workspaceMakers = ['src/events', 'src/directory', 'src/ingest/credential.ts', 'src/cli', 'projections/stores']

/** Rooms that may ask other servers. Nothing at the edge does: whoever could name an address there would have it asked from inside (SSRF). */
const askers = ['src/cli', 'streams', 'projections/stores', 'infra']

type Import = Readonly<{ target: string; typeOnly: boolean }>

function importsOf(file: string, text: string): Import[] {
  const found: Import[] = []
  const statement =
    /^\s*(?:import|export)\s+(type\s)?[^'"`;]*?from\s+'([^']+)'|^\s*import\s+'([^']+)'|\bimport\('([^']+)'\)/gm
  for (const [, typeOnly, from, bare, dynamic] of text.matchAll(statement)) {
    const target = from ?? bare ?? dynamic ?? ''
    const path = target.startsWith('#')
      ? target.slice(1)
      : target.startsWith('.')
        ? normalize(join(dirname(file), target))
        : target
    found.push({ target: path, typeOnly: typeOnly !== undefined })
  }
  return found
}

const within = (path: string, room: string): boolean => {
  if (!room.includes('*')) return path === room || path.startsWith(`${room}/`)
  const [head = '', tail = ''] = room.split('*')
  return path.startsWith(head) && path.endsWith(tail) && !path.slice(head.length, -tail.length).includes('/')
}
const isOurs = (target: string): boolean => /^(src|streams|projections|infra|test)\//.test(target)

function isAllowed({ may }: Rule, { target, typeOnly }: Import): boolean {
  if (may.includes('*') || !isOurs(target) || may.some((room) => within(target, room))) return true
  return typeOnly && typeOnlyEverywhere.includes(target)
}

/** Where a package must stay that this file imports without being there; undefined when it may. */
function homeMissed(file: string, { target, typeOnly }: Import): readonly string[] | undefined {
  const home = Object.entries(homes).find(([name]) => target === name || target.startsWith(`${name}/`))?.[1]
  return typeOnly || home?.some((room) => within(file, room)) ? undefined : home
}

/** What the file may not do, in words. */
function violations(file: string, text: string): string[] {
  const rule = rules.find(({ room }) => within(file, room))
  if (rule === undefined) return [`${file} belongs to no room of the table`]
  const imports = importsOf(file, text)
  const wrong = imports.filter((each) => !isAllowed(rule, each)).map(({ target }) => `${file} may not import ${target}`)
  for (const each of imports) {
    const home = homeMissed(file, each)
    if (home !== undefined) wrong.push(`${file} may not import ${each.target}: it stays in ${home.join(', ')}`)
  }
  if (/\bworkspaceIdOf\(/.test(text) && !workspaceMakers.some((room) => within(file, room))) {
    wrong.push(`${file} may not make a WorkspaceId`)
  }
  if (/\b(?:fetch|https?\.(?:get|request))\(/.test(text) && !askers.some((room) => within(file, room))) {
    wrong.push(`${file} may not ask another server`)
  }
  return wrong
}

/** A circle among files and what each imports; '' where there is none. */
function circleIn(imports: readonly (readonly [string, readonly string[]])[]): string {
  const graph = new Map(imports)
  const done = new Set<string>()
  const visit = (file: string, way: readonly string[]): string => {
    if (way.includes(file)) return [...way.slice(way.indexOf(file)), file].join(' -> ')
    if (done.has(file)) return ''
    for (const target of graph.get(file) ?? []) {
      const circle = visit(target, [...way, file])
      if (circle !== '') return circle
    }
    done.add(file)
    return ''
  }
  return [...graph.keys()].map((file) => visit(file, [])).find((circle) => circle !== '') ?? ''
}

/** The folders beside each other, within one, between which an import leads; undefined where it leads into a folder, or out of it. */
function foldersBetween(file: string, target: string): readonly [string, string] | undefined {
  const [from, to] = [dirname(file).split('/'), dirname(target).split('/')]
  const level = from.findIndex((name, i) => name !== to[i])
  if (level < 1 || to[level] === undefined) return undefined
  return [from.slice(0, level + 1).join('/'), to.slice(0, level + 1).join('/')]
}

describe('architecture', () => {
  const files = globSync('{src,streams,projections,infra}/**/*.ts')

  it('finds the files', () => expect(files.length).to.be.greaterThan(20))

  it('imports only what the table allows', () => {
    expect(files.flatMap((file) => violations(file, readFileSync(file, 'utf8')))).to.deep.equal([])
  })

  it('makes each import name its file', () => {
    for (const file of files) {
      for (const { target } of importsOf(file, readFileSync(file, 'utf8'))) {
        if (isOurs(target)) expect(target, file).to.match(/\.(ts|mjs)$/)
      }
    }
  })

  it('imports no package that package.json does not name: another one may have brought it, or not', () => {
    const all = globSync('{src,streams,projections,infra,test}/**/*.{ts,js,mjs}')
    const imported = all.flatMap((file) => importsOf(file, readFileSync(file, 'utf8')).map(({ target }) => target))
    const packages = imported.flatMap(
      (target) => /^(?!node:)(?:@[\w.-]+\/)?\w[\w.-]*/.exec(isOurs(target) ? '' : target) ?? [],
    )
    expect(packages).to.include.members(['koa', '@opentelemetry/sdk-trace-web'])
    const { dependencies, devDependencies } = JSON.parse(readFileSync('package.json', 'utf8')) as Record<string, object>
    const named = new Set(Object.keys({ ...dependencies, ...devDependencies }))
    expect(packages.filter((name) => !named.has(name))).to.deep.equal([])
  })

  it('has no circles: nothing imports what imports it, by however many others', () => {
    const targetsOf = (file: string) => importsOf(file, readFileSync(file, 'utf8')).map(({ target }) => target)
    expect(circleIn(files.map((file) => [file, targetsOf(file)]))).to.equal('')
    const planted = { a: ['b'], b: ['d', 'c'], c: ['a'] }
    expect(circleIn(Object.entries(planted))).to.equal('a -> b -> c -> a')
  })

  it('has no circles among folders beside each other either', () => {
    const graph = new Map<string, string[]>()
    for (const file of [...files, ...globSync('test/**/*.ts')]) {
      for (const { target } of importsOf(file, readFileSync(file, 'utf8'))) {
        const [from, to] = (isOurs(target) ? foldersBetween(file, target) : undefined) ?? []
        if (from !== undefined && to !== undefined) graph.set(from, [...(graph.get(from) ?? []), to])
      }
    }
    expect(graph.get('projections/builds')).to.include('projections/rosters')
    expect(graph.get('test/streams')).to.include('test/contracts')
    expect(circleIn([...graph])).to.equal('')
  })

  const planted: readonly (readonly [string, string])[] = [
    ['src/query/logs.ts', "import { follow } from '#streams/follow.ts'"],
    ['src/lib/clock.ts', "import type { Position } from '../events/envelope.ts'"],
    ['projections/logs/fold.ts', "import { x } from '#src/query/logs.ts'"],
    ['projections/stores/sqlite/layout.ts', "import { y } from '../../logs/fold.ts'"],
    ['projections/stores/sqlite/reading/reader.ts', "import { writeDay } from '../writing/day-writer.ts'"],
    ['projections/stores/sqlite/writing/writer.ts', "import { dayQuery } from '../reading/day-query.ts'"],
    ['projections/traces/fold.ts', "import { openLane } from '../folding/lane.ts'"],
    ['projections/logs/query.ts', "import { readTrace } from '../traces/read-trace.ts'"],
    ['projections/reading/filters.ts', "import { changeRoster } from '#projections/rosters/roster.ts'"],
    ['projections/folding/lane.ts', "import { foldShares } from '../builds/fold-shares.ts'"],
    ['projections/rosters/roster.ts', "import { eventAt } from '../folding/log-tail.ts'"],
    ['src/ingest/otlp.ts', "import { z } from '#projections/logs/query.ts'"],
    ['src/query/logs.ts', "import { DatabaseSync } from 'node:sqlite'"],
    ['src/wire/logs/scan.ts', "import {\n  a,\n  b,\n} from '#src/http/errors.ts'"],
    ['src/query/logs.ts', 'const w = workspaceIdOf(ctx.query.workspace)'],
    ['src/app/search/log-rows.ts', "import { waterfall } from '../trace/waterfall.ts'"],
    ['src/app/trace/find-page.ts', "import { keysPage } from '../account/keys.ts'"],
    ['src/app/account/keys.ts', 'await fetch(form.value.get(url))'],
    ['src/ingest/otlp.ts', "const { limits } = await import('#streams/sqlite/stream.ts')"],
  ]
  for (const [file, text] of planted) {
    it(`sees a planted violation in ${file}: ${text.split('\n')[0]}`, () => {
      expect(violations(file, text)).to.have.length(1)
    })
  }
})
