import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { elasticsearchImage, natsImage } from '../../infra/engines/images.ts'
import {
  kustomization,
  manifest,
  type Container,
  type Kustomization,
  type Manifest,
  type Workload,
} from './kubernetes-schema.ts'
import {
  addressesIn,
  configOf,
  documentsOf,
  makeSecrets,
  natsVariables,
  stopMsOf,
  storeBytesOf,
  streamBytesOf,
  type Environment,
} from './manifest.ts'
import { shardsNeeded } from './shards.ts'

describe('infra/kubernetes', () => {
  let all: Kustomization
  let manifests: readonly Manifest[]
  let workloads: readonly Workload[]
  let services: readonly Extract<Manifest, { kind: 'Service' }>[]
  let settings: Environment
  const secrets = makeSecrets()
  const of = <Kind extends Manifest['kind']>(kind: Kind) =>
    manifests.filter((each): each is Extract<Manifest, { kind: Kind }> => each.kind === kind)
  before(() => {
    all = kustomization.parse(documentsOf('kustomization.yaml')[0])
    manifests = all.resources.flatMap((file) => documentsOf(file).map((each) => manifest.parse(each)))
    workloads = [...of('Deployment'), ...of('StatefulSet')]
    services = of('Service')
    const literals = all.configMapGenerator.flatMap(({ literals = [] }) => literals)
    settings = Object.fromEntries(literals.map((line) => line.split(/=(.*)/s).slice(0, 2)))
  })
  const named = (name: string): Workload => {
    const found = workloads.find(({ metadata }) => metadata.name === name)
    if (found === undefined) throw new Error(`no workload ${name}`)
    return found
  }
  const containerOf = ({ spec }: Workload): Container => spec.template.spec.containers[0]
  const portsOf = (workload: Workload): string[] => containerOf(workload).ports.map(({ name }) => name)

  /** What the container's process finds, as Kubernetes makes it: `$(NAME)` is a variable before. */
  function environmentOf({ envFrom, env = [] }: Container, pod: string): Environment {
    const environment: Record<string, string> = envFrom === undefined ? {} : { ...settings }
    for (const { name, value, valueFrom } of env) {
      const key = valueFrom !== undefined && 'secretKeyRef' in valueFrom ? valueFrom.secretKeyRef.key : undefined
      if (key !== undefined) expect(secrets, name).to.have.property(key)
      const text = value ?? (key === undefined ? pod : (secrets[key] ?? ''))
      environment[name] = text.replaceAll(/\$\((\w+)\)/g, (_, other: string) => {
        expect(environment, `${name} before ${other}`).to.have.property(other)
        return environment[other] ?? ''
      })
    }
    return environment
  }

  it('has three NATS servers, Elasticsearch and two processes of each role, all of the versions that are tested', () => {
    const shape = workloads.map((each) => [each.metadata.name, containerOf(each).image, each.spec.replicas])
    expect(shape).to.have.deep.members([
      ['nats', natsImage, 3],
      ['elasticsearch', elasticsearchImage, 1],
      ...['ingest', 'project', 'query'].map((role) => [role, 'throughline', 2]),
    ])
  })

  it('names files that are there, and one name once a kind', () => {
    for (const file of all.configMapGenerator.flatMap(({ files = [] }) => files)) {
      expect(existsSync(join('infra', file)), file).to.equal(true)
    }
    const names = manifests.map(({ kind, metadata }) => `${kind} ${metadata.name}`)
    expect(new Set(names).size).to.equal(names.length)
  })

  it('selects by labels that the pods carry', () => {
    for (const each of workloads) {
      expect(each.spec.selector.matchLabels).to.deep.equal(each.spec.template.metadata.labels)
      for (const { labelSelector } of each.spec.template.spec.topologySpreadConstraints ?? []) {
        expect(labelSelector.matchLabels).to.deep.equal(each.spec.template.metadata.labels)
      }
    }
    const selectors = [
      ...services.map(({ metadata, spec }) => [metadata.name, spec.selector] as const),
      ...of('PodDisruptionBudget').map(({ metadata, spec }) => [metadata.name, spec.selector.matchLabels] as const),
    ]
    for (const [name, labels] of selectors) {
      expect(named(name).spec.template.metadata.labels, name).to.deep.equal(labels)
    }
  })

  it('lets the machines be emptied one by one', () => {
    const guarded = of('PodDisruptionBudget').map(({ metadata }) => metadata.name)
    const several = workloads.filter(({ spec }) => spec.replicas > 1).map(({ metadata }) => metadata.name)
    expect(guarded).to.have.members(several)
  })

  it('sends to ports that are open', () => {
    for (const { metadata, spec } of services) {
      const open = containerOf(named(metadata.name)).ports
      for (const { name, port, targetPort } of spec.ports) {
        const target = open.find((each) =>
          targetPort === undefined ? each.containerPort === port : each.name === targetPort,
        )
        expect(target?.name, `${metadata.name} ${port}`).to.equal(name)
      }
    }
    for (const each of workloads) {
      const { startupProbe, readinessProbe, livenessProbe } = containerOf(each)
      for (const probe of [startupProbe, readinessProbe, livenessProbe]) {
        expect(portsOf(each), each.metadata.name).to.include(
          'httpGet' in probe ? probe.httpGet.port : probe.tcpSocket.port,
        )
      }
    }
    for (const { backend } of of('Ingress')
      .flatMap(({ spec }) => spec.rules)
      .flatMap(({ http }) => http.paths)) {
      const service = services.find(({ metadata }) => metadata.name === backend.service.name)
      expect(service?.spec.ports.map(({ name }) => name)).to.include(backend.service.port.name)
    }
  })

  it('leads ingest to the processes that ingest, and all else to those that answer', () => {
    const paths = of('Ingress')
      .flatMap(({ spec }) => spec.rules)
      .flatMap(({ http }) => http.paths)
    expect(paths.map(({ path, backend }) => [path, backend.service.name])).to.deep.equal([
      ['/api/rum/v1', 'ingest'],
      ['/api/logs/v1', 'ingest'],
      ['/api/traces/v1', 'ingest'],
      ['/', 'query'],
    ])
  })

  it('mounts volumes and takes names from services that are there', () => {
    const generated = all.configMapGenerator.map(({ name }) => name)
    for (const each of workloads) {
      const { volumes = [] } = each.spec.template.spec
      const claims =
        each.kind === 'StatefulSet' ? each.spec.volumeClaimTemplates.map(({ metadata }) => metadata.name) : []
      const there = [...volumes.map(({ name }) => name), ...claims]
      if (each.kind === 'StatefulSet') {
        expect(services.map(({ metadata }) => metadata.name)).to.include(each.spec.serviceName)
      }
      expect(containerOf(each).volumeMounts.map(({ name }) => name)).to.have.members(there)
      for (const volume of volumes) if ('configMap' in volume) expect(generated).to.include(volume.configMap.name)
    }
  })

  it('gives every NATS server the variables of its configuration, and routes to all', () => {
    const nats = named('nats')
    const servers = Array.from({ length: nats.spec.replicas }, (_, index) => `nats-${index}`)
    const service = services.find(({ metadata }) => metadata.name === 'nats')
    expect(service?.spec).to.include({ clusterIP: 'None', publishNotReadyAddresses: true })
    const environment = environmentOf(containerOf(nats), 'nats-0')
    expect(Object.keys(environment)).to.have.members(natsVariables())
    expect(environment['NATS_NAME']).to.equal('nats-0')
    expect(addressesIn(environment['NATS_ROUTES'] ?? '')).to.deep.equal(servers.map((server) => `${server}.nats:6222`))
  })

  it('lets Elasticsearch have the indices of all builds that there may be at once', () => {
    const environment = environmentOf(containerOf(named('elasticsearch')), '')
    expect(Number(environment['cluster.max_shards_per_node'])).to.be.at.least(shardsNeeded())
  })

  it('gives every process of ours a configuration that it takes, and addresses that are there', () => {
    for (const each of of('Deployment')) {
      const container = containerOf(each)
      const config = configOf(environmentOf(container, ''), container.args ?? [], ['NATS_PASSWORD', 'ELASTIC_PASSWORD'])
      expect(config).to.include({ role: each.metadata.name, trustedProxies: 1 })
      expect(container.securityContext.readOnlyRootFilesystem).to.equal(true)
      const ports = new Map(container.ports.map(({ name, containerPort }) => [name, containerPort]))
      expect(ports.get('operations')).to.equal(config.operationsPort)
      const scraped = { 'prometheus.io/scrape': 'true', 'prometheus.io/port': String(config.operationsPort) }
      expect(each.spec.template.metadata.annotations).to.deep.equal(scraped)
      if (ports.has('http')) expect(ports.get('http')).to.equal(config.port)
      expect(storeBytesOf(environmentOf(containerOf(named('nats')), 'nats-0'))).to.be.at.least(streamBytesOf(config))
      const preStopMs = 5_000
      expect(stopMsOf(config) + preStopMs).to.be.below(each.spec.template.spec.terminationGracePeriodSeconds * 1_000)
      expect(config.cluster).to.deep.include({ natsReplicas: 3, durability: { stated: true }, allowLazyLog: false })
      const servers = [0, 1, 2].map((index) => `nats-${index}.nats:4222`)
      expect(addressesIn(config.cluster?.natsUrl ?? '')).to.deep.equal(servers)
      expect(addressesIn(config.cluster?.elasticsearchUrl ?? '')).to.deep.equal(['elasticsearch:9200'])
    }
  })
})
