import { expect } from 'chai'
import { callTarget, type CallAttributes } from '#src/app/map/call-target.ts'
import { clauseOf } from '#src/app/search/clause.ts'

const given: readonly (readonly [said: string, query: string, attributes: CallAttributes])[] = [
  [
    'other payments',
    'peer.service=payments',
    { 'peer.service': 'payments', 'server.address': 'a.example', 'db.system': 'redis' },
  ],
  [
    'database postgresql/orders',
    'db.system.name=postgresql AND db.namespace=orders',
    { 'db.system.name': 'postgresql', 'db.namespace': 'orders', 'server.address': 'db-1' },
  ],
  ['database mysql/shop', 'db.system=mysql AND db.name=shop', { 'db.system': 'mysql', 'db.name': 'shop' }],
  [
    'database redis/cache-1',
    'db.system=redis AND net.peer.name=cache-1',
    { 'db.system': 'redis', 'net.peer.name': 'cache-1', 'net.peer.port': 6_379 },
  ],
  ['database redis', 'db.system=redis', { 'db.system': 'redis' }],
  [
    'queue kafka/orders',
    'messaging.system=kafka AND messaging.destination.name=orders',
    { 'messaging.system': 'kafka', 'messaging.destination.name': 'orders', 'server.address': 'broker-1' },
  ],
  [
    'queue kafka/broker-1',
    'messaging.system=kafka AND server.address=broker-1',
    { 'messaging.system': 'kafka', 'server.address': 'broker-1' },
  ],
  [
    'other localhost:8081',
    'server.address=localhost AND server.port=8081',
    { 'server.address': 'localhost', 'server.port': 8_081, 'url.full': 'http://localhost:8081/' },
  ],
  ['other a.example', 'server.address=a.example', { 'server.address': ' a.example ', 'server.port': 443 }],
  ['other a.example', 'server.address=a.example', { 'server.address': 'a.example', 'server.port': 'many' }],
  [
    'other a.example:8081',
    'server.address=a.example AND net.peer.port=8081',
    { 'server.address': 'a.example', 'server.port': 'many', 'net.peer.port': 8_081 },
  ],
  ['other b.example:8443', 'http.url:"b.example:8443"', { 'http.url': 'https://b.example:8443/v1?key=x' }],
  ['nothing', '', { 'url.full': '/only/a/path', 'server.address': '', 'peer.service': 7 }],
  ['nothing', '', { 'url.full': 'file:///srv/page.html' }],
  ['nothing', '', {}],
]

describe('what a span calls', () => {
  for (const [said, query, attributes] of given) {
    it(`is ${said}, by ${Object.keys(attributes).join(', ')}`, () => {
      const found = callTarget(attributes)
      expect(found === undefined ? 'nothing' : `${found.kind} ${found.name}`).to.equal(said)
      expect(found?.conditions.map((each) => clauseOf(each, false)).join(' AND ') ?? '').to.equal(query)
    })
  }

  it('is asked for messages where the operation is to receive them', () => {
    const queue = { 'messaging.system': 'kafka', 'messaging.destination.name': 'orders' }
    for (const name of ['messaging.operation.type', 'messaging.operation']) {
      const asked = ['receive', 'send'].map((operation) => callTarget({ ...queue, [name]: operation }))
      expect(asked.map((found) => found?.isAskedForMessages ?? false)).to.deep.equal([true, false])
    }
  })
})
