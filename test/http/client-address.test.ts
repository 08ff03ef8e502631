import { expect } from 'chai'
import { clientAddress } from '#src/http/client-address.ts'

describe('the address of a client', () => {
  it('is that of its connection, or what a proxy says of it, without a port', () => {
    for (const [ip, address] of [
      ['192.0.2.1', '192.0.2.1'],
      ['192.0.2.1:49152', '192.0.2.1'],
      ['2001:db8::7', '2001:db8::7'],
      ['2001:db8::7:8080', '2001:db8::7:8080'],
      ['[2001:db8::7]', '2001:db8::7'],
      ['[2001:db8::7]:443', '2001:db8::7'],
      ['::ffff:192.0.2.1', '::ffff:192.0.2.1'],
      ['unknown', 'unknown'],
      ['', ''],
    ] as const) {
      expect(clientAddress({ ip })).to.equal(address)
    }
  })
})
