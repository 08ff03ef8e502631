import { generateKeyPairSync, sign } from 'node:crypto'

/** A DER value (X.690) of a tag and its parts. */
function der(tag: number, ...parts: readonly Uint8Array[]): Buffer {
  const body = Buffer.concat(parts)
  const bytes = [body.length >> 8, body.length & 0xff].slice(body.length < 0x100 ? 1 : 0)
  const length = body.length < 0x80 ? bytes : [0x80 | bytes.length, ...bytes]
  return Buffer.concat([Buffer.from([tag, ...length]), body])
}

const tags = {
  integer: 0x02,
  bits: 0x03,
  octets: 0x04,
  oid: 0x06,
  utf8: 0x0c,
  generalizedTime: 0x18,
  list: 0x30,
  set: 0x31,
}
const list = (...parts: readonly Uint8Array[]): Buffer => der(tags.list, ...parts)
const oid = (hex: string): Buffer => der(tags.oid, Buffer.from(hex, 'hex'))
const time = (text: string): Buffer => der(tags.generalizedTime, Buffer.from(text))

const ecdsaWithSha256 = list(oid('2a8648ce3d040302'))
const commonName = oid('550403')
const subjectAltName = oid('551d11')

const pem = (label: string, bytes: Buffer): string =>
  `-----BEGIN ${label}-----\n${(bytes.toString('base64').match(/.{1,64}/g) ?? []).join('\n')}\n-----END ${label}-----\n`

/** A key and a certificate for an address that it signs itself, as PEM (RFC 5280). */
export function makeCertificate(
  ip: readonly number[] = [127, 0, 0, 1],
): Readonly<{ certificate: string; key: string }> {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const name = list(der(tags.set, list(commonName, der(tags.utf8, Buffer.from('a test')))))
  const address = list(der(0x87, Buffer.from(ip)))
  const signed = list(
    der(0xa0, der(tags.integer, Buffer.from([2]))),
    der(tags.integer, Buffer.from([1])),
    ecdsaWithSha256,
    name,
    list(time('20200101000000Z'), time('21200101000000Z')),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, list(list(subjectAltName, der(tags.octets, address)))),
  )
  const signature = der(tags.bits, Buffer.from([0]), sign('sha256', signed, privateKey))
  return {
    certificate: pem('CERTIFICATE', list(signed, ecdsaWithSha256, signature)),
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
  }
}
