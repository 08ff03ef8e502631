import { readFileSync } from 'node:fs'
import { expect } from 'chai'
import { ConfigError, limits, readConfig, settingNames } from '#src/config.ts'

const secret = 'k3'.repeat(16)
const engines = {
  NATS_URL: 'nats://throughline:secret@127.0.0.1:4222',
  ELASTICSEARCH_URL: 'http://elastic:secret@127.0.0.1:9200',
}
const cluster = { ...engines, SESSION_KEYS: secret, KEY_PEPPER: secret }

/** What the operator is told; no line of it may show what was given. */
function complaint(environment: Readonly<Record<string, string>>, argv: readonly string[] = []): string {
  try {
    readConfig(environment, argv)
  } catch (error) {
    expect(error).to.be.instanceOf(ConfigError)
    const { message } = error as Error
    expect(message).to.not.include('secret@').and.not.include(secret)
    return message
  }
  throw new Error('it was taken')
}

describe('configuration', () => {
  it('is the embedded form, in every role, where no engines are named', () => {
    const config = readConfig({})
    expect(config).to.include({ role: 'all', port: 8080, dataFolder: './data', operationsPort: undefined })
    expect(config.cluster).to.equal(undefined)
    expect(readConfig({}, ['all']).role).to.equal('all')
  })

  it('says how long a worker may give no answer: for ever, with 0', () => {
    expect(readConfig({}).workerSilenceMs).to.equal(limits.workerSilenceMs)
    expect(readConfig({ WORKER_SILENCE_MS: '0' }).workerSilenceMs).to.equal(0)
    expect(readConfig({}, ['--worker-silence-ms', '5000']).workerSilenceMs).to.equal(5_000)
  })

  it('says what a setting may be, in words for who wrote it', () => {
    for (const [environment, words] of [
      [{ PORT: 'abc' }, 'PORT: is a whole number from 0 to 65535'],
      [{ PORT: '99999' }, 'PORT: is a whole number from 0 to 65535'],
      [{ TRUSTED_PROXIES: '1.5' }, 'TRUSTED_PROXIES: is a whole number from 0 to 10'],
      [{ STOP_PATIENCE_MS: '8s' }, 'STOP_PATIENCE_MS: is a whole number from 0 to 600000'],
      [{ WORKER_SILENCE_MS: '5' }, 'WORKER_SILENCE_MS: is 0 or at least 1000'],
      [{ ALLOW_LAZY_LOG: 'true' }, 'ALLOW_LAZY_LOG: is 0 or 1'],
      [{ BASE_URL: 'shop.example' }, 'BASE_URL: is http(s)://host or http(s)://host:port'],
    ] as const) {
      expect(complaint(environment)).to.equal(words)
    }
  })

  it('takes an empty variable for one that is not set', () => {
    expect(readConfig({ PORT: '', WORKER_SILENCE_MS: '', NATS_URL: '' })).to.deep.equal(readConfig({}))
    expect(readConfig({ PORT: ' ', WORKER_SILENCE_MS: '\n', BASE_URL: ' ' })).to.deep.equal(readConfig({}))
  })

  it('takes a number for its digits alone', () => {
    expect(readConfig({ PORT: ' 08081\n' }).port).to.equal(8081)
    for (const port of ['0x50', '1e3', '+80', '80.0', '-0', 'Infinity', '8 0']) {
      expect(complaint({ PORT: port }), port).to.equal('PORT: is a whole number from 0 to 65535')
    }
  })

  it('takes an address as browsers write it, by which cookies are for https alone', () => {
    const baseUrlOf = (given: string) => readConfig({ BASE_URL: given }).baseUrl
    expect(baseUrlOf('HTTPS://Shop.Example:443/')).to.equal('https://shop.example')
    expect(baseUrlOf('http://shop.example:8080//')).to.equal('http://shop.example:8080')
    expect(baseUrlOf('https://[::1]:8443')).to.equal('https://[::1]:8443')
    expect(baseUrlOf('https://shop.example/below/')).to.equal('https://shop.example/below')
  })

  it('takes no address that paths cannot be put behind', () => {
    for (const given of [
      'https://a.example?b',
      'https://a.example/#b',
      'https://me:secret@a.example',
      'ftp://a.example',
    ]) {
      expect(complaint({ BASE_URL: given })).to.equal('BASE_URL: is http(s)://host or http(s)://host:port')
    }
  })

  it('has a port of its own for operations', () => {
    expect(complaint({ PORT: '80', OPERATIONS_PORT: '80' })).to.equal(
      'OPERATIONS_PORT and PORT are the same: give each its own',
    )
    expect(complaint({ OPERATIONS_PORT: '8080' })).to.include('are the same')
    expect(readConfig({ PORT: '0', OPERATIONS_PORT: '0' }), 'any two that are free').to.include({ operationsPort: 0 })
  })

  it('says how long what is under way may take when it is to stop', () => {
    expect(readConfig({}).stopPatienceMs).to.equal(limits.stopPatienceMs)
    expect(readConfig({ STOP_PATIENCE_MS: '85000' }).stopPatienceMs).to.equal(85_000)
  })

  it('is a cluster where both engines are named', () => {
    const { role, cluster: found, port } = readConfig(cluster, ['query', '--port', '9', '--partitions=8'])
    expect([role, port]).to.deep.equal(['query', 9])
    expect(readConfig(cluster).cluster?.partitions, 'unless it is said').to.equal(4)
    expect(found).to.deep.equal({
      natsUrl: engines.NATS_URL,
      elasticsearchUrl: engines.ELASTICSEARCH_URL,
      partitions: 8,
      durability: undefined,
      allowLazyLog: false,
      allowLostLog: false,
      natsReplicas: undefined,
      indexPrefix: 'throughline',
      indexSettings: { shards: 1, replicas: undefined },
      indexRefreshMs: 500,
      pepper: secret,
      sessionKeys: [secret],
    })
  })

  it('takes keys of sessions with blanks around the commas, which are no part of a key', () => {
    const [first, second] = ['n'.repeat(32), 'o'.repeat(32)]
    const given = { SESSION_KEYS: `${first}, ${second}\n` }
    expect(readConfig(given).sessionKeys).to.deep.equal([first, second])
    expect(readConfig({ ...cluster, ...given }).cluster?.sessionKeys).to.deep.equal([first, second])
  })

  it('takes how many shards and copies the indexes are to have', () => {
    const settings = (more: Readonly<Record<string, string>>) =>
      readConfig({ ...cluster, ...more }).cluster?.indexSettings
    expect(settings({ INDEX_SHARDS: '4', INDEX_REPLICAS: '2' })).to.deep.equal({ shards: 4, replicas: 2 })
    expect(settings({ INDEX_REPLICAS: '0' })).to.deep.equal({ shards: 1, replicas: 0 })
    expect(() => settings({ INDEX_SHARDS: '0' })).to.throw('INDEX_SHARDS')
  })

  it('knows how NATS proves that it syncs: by its figures, rather than by the operator’s word', () => {
    const durability = (more: Readonly<Record<string, string>>) =>
      readConfig({ ...cluster, ...more }).cluster?.durability
    expect(durability({ NATS_SYNC_ALWAYS: '1' })).to.deep.equal({ stated: true })
    const monitoring = { NATS_MONITORING_URL: 'http://a:8222,http://b:8222' }
    expect(durability({ ...monitoring, NATS_SYNC_ALWAYS: '1' })).to.deep.equal({
      monitoring: ['http://a:8222', 'http://b:8222'],
    })
  })

  it('takes several servers of NATS, and tokens', () => {
    const urls = 'nats://token@a:4222,tls://token@b:4222'
    expect(readConfig({ ...cluster, NATS_URL: urls }).cluster?.natsUrl).to.equal(urls)
  })

  const wrong: readonly (readonly [string, Readonly<Record<string, string>>, readonly string[], RegExp])[] = [
    ['one engine alone', { NATS_URL: engines.NATS_URL }, [], /^NATS_URL is set and ELASTICSEARCH_URL is not: .*both/],
    ['the other alone', { ELASTICSEARCH_URL: engines.ELASTICSEARCH_URL }, [], /^ELASTICSEARCH_URL is set and NATS_URL/],
    ['a role without engines', {}, ['ingest'], /^the role ingest .*set NATS_URL and ELASTICSEARCH_URL/],
    ['no keys for sessions', { ...engines, KEY_PEPPER: secret }, [], /^SESSION_KEYS is missing: .*openssl rand/],
    ['no pepper', { ...engines, SESSION_KEYS: secret }, [], /^KEY_PEPPER is missing: .*openssl rand/],
    ['a short pepper', { ...cluster, KEY_PEPPER: 'short' }, [], /^KEY_PEPPER: needs at least 32/],
    ['a data folder', { ...cluster, THROUGHLINE_DATA: 'd' }, [], /^THROUGHLINE_DATA: .*unset it/],
    ['a data folder by flag', cluster, ['project', '--data', 'd'], /^THROUGHLINE_DATA: /],
    ['no address of figures', { ...cluster, NATS_MONITORING_URL: 'h:1' }, [], /^NATS_MONITORING_URL: is http/],
    ['no partitions', { ...cluster, PARTITIONS: '0' }, [], /^PARTITIONS: /],
    ['an address of NATS by http', { ...cluster, NATS_URL: 'http://u:secret@h' }, [], /^NATS_URL: is nats:\/\//],
    [
      'an address of Elasticsearch without a scheme',
      { ...cluster, ELASTICSEARCH_URL: 'h:1' },
      [],
      /^ELASTICSEARCH_URL: is http/,
    ],
    [
      'addresses of Elasticsearch of which only one has a scheme',
      { ...cluster, ELASTICSEARCH_URL: 'http://u:secret@h,i:9200' },
      [],
      /^ELASTICSEARCH_URL: is http\(s\):\/\/user:password@host:port, or several with commas$/,
    ],
    [
      'an address of Elasticsearch twice',
      { ...cluster, ELASTICSEARCH_URL: 'http://u:secret@h:1,http://h:1/' },
      [],
      /^ELASTICSEARCH_URL: names an address twice$/,
    ],
    [
      'addresses of Elasticsearch that are not all encrypted',
      { ...cluster, ELASTICSEARCH_URL: 'https://u:secret@h:1,http://i:1' },
      [],
      /^ELASTICSEARCH_URL: has http:\/\/ for all of its addresses, or https:\/\/ for all$/,
    ],
    [
      'nodes of Elasticsearch with passwords of their own',
      { ...cluster, ELASTICSEARCH_URL: 'http://u:secret@h:1,http://u:other@i:1' },
      [],
      /^ELASTICSEARCH_URL: has the same user and password for all of its addresses$/,
    ],
    [
      'a prefix under which another installation finds a build of its own',
      { ...cluster, INDEX_PREFIX: 'throughline-logs-v17-001' },
      [],
      /^INDEX_PREFIX: is named like a build .*choose another/,
    ],
    ['a prefix that no index may have', { ...cluster, INDEX_PREFIX: 'Überall' }, [], /^INDEX_PREFIX: /],
    [
      'a worker that may hardly be silent',
      { WORKER_SILENCE_MS: '500' },
      [],
      /^WORKER_SILENCE_MS: is 0 or at least 1000/,
    ],
    ['half of TLS', { TLS_CERT: 'c' }, [], /^TLS_CERT and TLS_KEY/],
    ['a verb behind a flag', {}, ['--data', 'x', 'status'], /^status is no flag; a verb or a role stands first$/],
    ['an unknown flag', {}, ['--prot', '1'], /^unknown flag --prot; known: .*--port/],
    ['a flag without its value', {}, ['--port'], /^--port needs a value/],
  ]
  for (const [what, environment, argv, line] of wrong) {
    it(`says in one line what to do about ${what}`, () => {
      const said = complaint(environment, argv)
      expect(said).to.match(line)
      expect(said).to.not.include('\n')
    })
  }

  it('is taken away from the servers that tests start, whatever the shell holds', () => {
    const [, list = ''] = /const serverVariables = `([^`]*)`/.exec(readFileSync('infra/launch/test.ts', 'utf8')) ?? []
    expect(list.split(/\s+/)).to.have.members([...settingNames])
  })
})
