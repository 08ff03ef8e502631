import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { z } from 'zod'
import { limits } from '#src/config.ts'
import { elasticsearchImage, natsImage } from '../../infra/engines/images.ts'
import {
  addressesIn,
  configOf,
  documentsOf,
  makeSecrets,
  natsVariables,
  read,
  stopMsOf,
  storeBytesOf,
  streamBytesOf,
  type Environment,
} from './manifest.ts'
import { shardsNeeded } from './shards.ts'

// The parts of the Compose specification (compose-spec.json) that compose.yaml uses, and nothing else.
const duration = z.string().regex(/^\d+(s|m)$/)
const healthcheck = z.strictObject({
  test: z.tuple([z.enum(['CMD', 'CMD-SHELL'])], z.string()),
  interval: duration,
  timeout: duration,
  retries: z.int().positive(),
})
const service = z.strictObject({
  image: z.string(),
  build: z.strictObject({ context: z.literal('..'), dockerfile: z.string() }).optional(),
  command: z.array(z.string()).optional(),
  restart: z.literal('unless-stopped'),
  cap_drop: z.tuple([z.literal('ALL')]).optional(),
  security_opt: z.tuple([z.literal('no-new-privileges:true')]).optional(),
  stop_grace_period: duration.optional(),
  deploy: z.strictObject({ replicas: z.int().positive() }).optional(),
  depends_on: z.record(z.string(), z.strictObject({ condition: z.literal('service_healthy') })).default({}),
  environment: z.record(z.string(), z.string()).optional(),
  healthcheck: healthcheck.optional(),
  ports: z.array(z.string().regex(/^\d+:\d+$/)).optional(),
  volumes: z.array(z.string().regex(/^[a-z0-9-]+:\//)).default([]),
  configs: z.array(z.strictObject({ source: z.string(), target: z.string().startsWith('/') })).default([]),
})
type Service = z.infer<typeof service>

const project = z.strictObject({
  name: z.string(),
  services: z.record(z.string(), service),
  configs: z.record(z.string(), z.strictObject({ file: z.string() })),
  volumes: z.record(z.string(), z.null()),
})

/** As Compose puts values for `$$`, `${NAME}`, `${NAME:?hint}` and `${NAME:-default}`. */
const interpolate = (text: string, environment: Environment): string =>
  text.replaceAll(/\$(?:\$|\{(\w+)(?::([?-])([^}]*))?\})/g, (whole, name?: string, mark?: string, rest = '') => {
    if (name === undefined) return whole.slice(1)
    const value = environment[name] ?? (mark === '-' ? rest : undefined)
    if (value === undefined) throw new Error(`${name} has no value`)
    return value
  })

describe('infra/compose.yaml', () => {
  const secrets = makeSecrets()
  let compose: z.infer<typeof project>
  let services: readonly [string, Service][]
  let nats: readonly [string, Service][]
  let ours: readonly [string, Service][]
  const ofImage = (image: string) => services.filter(([, each]) => each.image === image)
  before(() => {
    const [document] = documentsOf('compose.yaml')
    const parts = Object.entries(document as object).filter(([name]: [string, unknown]) => !name.startsWith('x-'))
    compose = project.parse(Object.fromEntries(parts))
    services = Object.entries(compose.services)
    nats = ofImage(natsImage)
    ours = ofImage('throughline:0.1.0')
  })
  const environmentOf = ({ environment = {} }: Service): Environment =>
    Object.fromEntries(Object.entries(environment).map(([name, value]) => [name, interpolate(value, secrets)]))

  it('gives our own processes no right of the host', () => {
    expect(ours).to.have.length(3)
    for (const [, each] of ours) {
      expect(each).to.deep.include({ cap_drop: ['ALL'], security_opt: ['no-new-privileges:true'] })
    }
  })

  it('has three NATS servers, Elasticsearch, two processes of each role and a front, all of the versions that are tested', () => {
    expect(nats.map(([name]) => name)).to.deep.equal(['nats-0', 'nats-1', 'nats-2'])
    expect(ofImage(elasticsearchImage)).to.have.length(1)
    expect(ours.map(([name, { command, deploy }]) => [name, command, deploy?.replicas])).to.deep.equal([
      ['ingest', ['ingest'], 2],
      ['project', ['project'], 2],
      ['query', ['query'], 2],
    ])
    expect(services).to.have.length(nats.length + ours.length + 2)
  })

  it('refers only to what is there', () => {
    for (const [name, { depends_on: needs, volumes, configs }] of services) {
      for (const needed of Object.keys(needs)) {
        expect(compose.services[needed]?.healthcheck, `${name}: ${needed}`).not.to.equal(undefined)
      }
      for (const volume of volumes) expect(compose.volumes, name).to.have.property(volume.split(':')[0] ?? '')
      for (const { source } of configs) expect(compose.configs, name).to.have.property(source)
    }
    for (const [, { build }] of ours) expect(existsSync(build?.dockerfile ?? ''), 'Dockerfile').to.equal(true)
    for (const { file } of Object.values(compose.configs)) expect(existsSync(join('infra', file)), file).to.equal(true)
  })

  it('keeps the data of each engine in a volume of its own', () => {
    const kept = services.flatMap(([, { volumes }]) => volumes.map((volume) => volume.split(':')[0]))
    expect(kept).to.have.members(Object.keys(compose.volumes))
    for (const [, each] of nats) expect(each.volumes[0]).to.match(new RegExp(`:${environmentOf(each)['NATS_STORE']}$`))
  })

  it('gives every NATS server the variables of its configuration, and routes to all', () => {
    for (const [name, each] of nats) {
      const environment = environmentOf(each)
      expect(Object.keys(environment).sort(), name).to.deep.equal(natsVariables())
      expect(environment['NATS_NAME']).to.equal(name)
      expect(each.command).to.deep.equal(['--config', '/etc/nats/nats-cluster.conf'])
      expect(each.configs.map(({ source, target }) => [compose.configs[source]?.file, target])).to.deep.equal([
        ['nats.conf', '/etc/nats/nats.conf'],
        ['nats-cluster.conf', '/etc/nats/nats-cluster.conf'],
      ])
      const routes = nats.map(([other]) => `${other}:${environment['NATS_ROUTE_PORT']}`)
      expect(addressesIn(environment['NATS_ROUTES'] ?? '')).to.deep.equal(routes)
    }
  })

  it('gives every NATS server room for the streams of all partitions, each of which it holds', () => {
    for (const [, each] of ours) {
      const needed = streamBytesOf(configOf(environmentOf(each), each.command ?? []))
      for (const [name, server] of nats) expect(storeBytesOf(environmentOf(server)), name).to.be.at.least(needed)
    }
  })

  it('leaves a process that is to stop the time that it gives to what is under way', () => {
    for (const [name, each] of ours) {
      const stopMs = stopMsOf(configOf(environmentOf(each), each.command ?? []))
      expect(stopMs, name).to.be.below(Number.parseInt(each.stop_grace_period ?? '', 10) * 1_000)
    }
  })

  it('lets Elasticsearch have the indices of all builds that there may be at once', () => {
    const [[, elasticsearch] = []] = ofImage(elasticsearchImage)
    const most = Number(elasticsearch?.environment?.['cluster.max_shards_per_node'])
    expect(most).to.be.at.least(shardsNeeded())
  })

  it('gives every process of ours a configuration that it takes, and addresses that are there', () => {
    for (const [name, each] of ours) {
      const config = configOf(environmentOf(each), each.command ?? [])
      expect(config).to.include({ role: name, port: 8080, operationsPort: 9464, trustedProxies: 1 })
      const { cluster } = config
      expect(cluster).to.deep.include({ natsReplicas: 3, durability: { stated: true }, allowLazyLog: false })
      expect(addressesIn(cluster?.natsUrl ?? '')).to.deep.equal(nats.map(([server]) => `${server}:4222`))
      expect(addressesIn(cluster?.elasticsearchUrl ?? '')).to.deep.equal(['elasticsearch:9200'])
      expect(each.healthcheck?.test.join(' ')).to.include('http://127.0.0.1:9464/health/ready')
    }
    const passwords = nats.map(([, each]) => environmentOf(each)['NATS_PASSWORD'])
    expect(new Set(passwords)).to.deep.equal(new Set([secrets['NATS_PASSWORD']]))
  })

  it('asks for every secret that is to be made, by name', () => {
    const asked = [...read('compose.yaml').matchAll(/\$\{(\w+):\?/g)].map(([, name]) => name)
    expect([...new Set(asked)]).to.have.members(Object.keys(secrets))
  })

  it('has a front that knows the roles which serve', () => {
    const targets = [...read('Caddyfile').matchAll(/dynamic a (\w+) (\d+)/g)].map(([, name, port]) => [name, port])
    expect(targets).to.deep.equal([
      ['ingest', '8080'],
      ['query', '8080'],
    ])
    expect(read('Caddyfile')).to.include('@ingest path /api/rum/v1/* /api/logs/v1/* /api/traces/v1/*\n')
  })

  it('has a front whose times fit those of the servers', () => {
    const msOf = (name: string): number =>
      1_000 * Number(new RegExp(`^\\s*${name} (\\d+)s$`, 'm').exec(read('Caddyfile'))?.[1])
    expect(msOf('keepalive'), 'no request meets a connection that is just closing').to.be.below(
      limits.keepAliveTimeoutMs,
    )
    expect(msOf('read_body'), 'a slow body is refused by the servers').to.be.above(limits.bodyTimeoutMs)
  })

  it('has a front that tries another process for a request with a body too, which Caddy does since 2.11.2', () => {
    const [, major, minor] = /^caddy:(\d+)\.(\d+)-alpine$/.exec(compose.services['front']?.image ?? '') ?? []
    expect([Number(major), Number(minor) >= 11]).to.deep.equal([2, true])
  })
})
