import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { chmodSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { unprivileged } from '#test/support/unprivileged.ts'
import { writeClusterSecrets } from '#src/directory/cluster-secrets.ts'
import { givenSecrets, loadSecrets } from '#src/directory/secrets.ts'

/** Of many different characters, but too few. */
const short = 'abcdefghijklmnop'

describe('secrets of an installation', () => {
  let folder: string
  const file = (): string => join(folder, 'secrets.json')
  const load = (sessionKeys?: readonly string[], pepper?: string) =>
    loadSecrets({ dataFolder: folder, random: randomBytes, sessionKeys, pepper })
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'throughline-secrets-'))
  })
  afterEach(() => rmSync(folder, { recursive: true, force: true }))

  it('are made once in an empty folder, random, readable by the owner only', () => {
    const first = load()
    expect(load()).to.deep.equal(first)
    expect(first.pepper).to.have.length.at.least(43)
    expect(first.sessionKeys[0]).to.have.length.at.least(43)
    expect(first.pepper).to.not.equal(first.sessionKeys[0])
    expect(statSync(file()).mode & 0o777).to.equal(0o600)
    expect(readdirSync(folder)).to.deep.equal(['secrets.json'])
  })

  it('are written for a cluster anew each time, for the owner alone', () => {
    const [first, second] = ['one', 'two'].map((pepper) => {
      const path = writeClusterSecrets(folder, { pepper, sessionKeys: ['a', 'it is'] })
      expect(statSync(path).mode & 0o777).to.equal(0o600)
      return readFileSync(path, 'utf8')
    })
    expect(first).to.equal("KEY_PEPPER=one\nSESSION_KEYS='a,it is'\n")
    expect(second).to.equal("KEY_PEPPER=two\nSESSION_KEYS='a,it is'\n")
  })

  it('come with a folder that is not there yet', () => {
    folder = join(folder, 'new', 'data')
    expect(load().pepper).to.have.length.at.least(43)
    expect(statSync(folder).mode & 0o077).to.equal(0)
    folder = join(folder, '..', '..')
  })

  it('leave nothing behind where there is no room for them', async () => {
    const program = `
      const [{ randomBytes: random }, { loadSecrets }] = [await import('node:crypto'), await import('#src/directory/secrets.ts')]
      try {
        loadSecrets({ dataFolder: ${JSON.stringify(folder)}, random })
      } catch ({ code }) {
        console.log(code)
      }`
    const command = ['-c', 'ulimit -f 0 && exec "$0" --input-type=module -e "$1"', process.execPath, program]
    const { stdout } = await promisify(execFile)('sh', command)
    expect([stdout, readdirSync(folder)]).to.deep.equal(['EFBIG\n', []])
  })

  it('are made private again when something widened the mode', () => {
    load()
    chmodSync(file(), 0o644)
    load()
    expect(statSync(file()).mode & 0o777).to.equal(0o600)
  })

  it('take SESSION_KEYS before the file', () => {
    const { pepper } = load()
    const keys = [randomBytes(32).toString('hex'), randomBytes(32).toString('hex')]
    expect(load(keys)).to.deep.equal({ sessionKeys: keys, pepper })
  })

  it('refuse SESSION_KEYS that are absent, short or a default', () => {
    for (const keys of [[], [''], [short], ['x'.repeat(64)], [randomBytes(32).toString('hex'), short]]) {
      expect(() => load(keys), JSON.stringify(keys))
        .to.throw(/SESSION_KEYS/)
        .with.property('name', 'PermanentError')
    }
  })

  it('take KEY_PEPPER into a new folder, and an empty one for none', () => {
    const pepper = randomBytes(32).toString('hex')
    expect(load(undefined, pepper).pepper).to.equal(pepper)
    for (const later of [undefined, '', pepper]) expect(load(undefined, later).pepper).to.equal(pepper)
  })

  it('refuse a KEY_PEPPER that is not the one of the file, and make nothing with one that could be guessed', () => {
    for (const weak of [short, 'a'.repeat(40), ' '.repeat(40)]) {
      expect(() => load(undefined, weak)).to.throw(/KEY_PEPPER.*openssl rand/)
    }
    expect(readdirSync(folder)).to.deep.equal([])
    const { pepper } = load()
    expect(() => load(undefined, randomBytes(32).toString('hex')))
      .to.throw(/KEY_PEPPER.*secrets\.json.*unset it, or give that one/)
      .with.property('name', 'PermanentError')
    expect(load().pepper).to.equal(pepper)
  })

  it('of a cluster are taken as they are given, and refused when they could be guessed', () => {
    const [session, pepper] = ['session-0123456789-abcdefghijklmno', 'pepper-0123456789-abcdefghijklmnop']
    expect(givenSecrets({ sessionKeys: [session], pepper })).to.deep.equal({ sessionKeys: [session], pepper })
    for (const weak of [short, 'a'.repeat(40), ' '.repeat(40)]) {
      expect(() => givenSecrets({ sessionKeys: [session], pepper: weak })).to.throw(/KEY_PEPPER.*openssl rand/)
      expect(() => givenSecrets({ sessionKeys: [session, weak], pepper })).to.throw(/SESSION_KEYS.*openssl rand/)
    }
  })

  it('refuse a folder whose directory is there but whose secrets are not', () => {
    writeFileSync(join(folder, 'directory.db'), '')
    expect(() => load()).to.throw(/restore it from a backup/)
    expect(readdirSync(folder)).to.deep.equal(['directory.db'])
  })

  it('refuse a file of another user without taking it for damaged', () => {
    load()
    chmodSync(folder, 0o755)
    chmodSync(file(), 0o000)
    expect(() => unprivileged(() => load())).to.throw(/secrets\.json: EACCES.*must belong to the user/)
  })

  it('refuse a damaged or emptied file, and leave it as it is', () => {
    const damaged = [
      '',
      '{',
      'null',
      '{}',
      '{"sessionKeys":[],"pepper":"x"}',
      '{"sessionKeys":["short"],"pepper":"short"}',
    ]
    for (const text of damaged) {
      writeFileSync(file(), text)
      expect(() => load(), text)
        .to.throw(/secrets\.json/)
        .with.property('name', 'PermanentError')
      expect(readFileSync(file(), 'utf8')).to.equal(text)
    }
  })
})
