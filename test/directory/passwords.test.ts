import { randomBytes } from 'node:crypto'
import { expect } from 'chai'
import { createPasswords, passwordProblem } from '#src/directory/passwords.ts'
import { createWorkspace, openDirectory, valueOf } from './harness.ts'

const passwords = createPasswords({ random: randomBytes, cost: 4 })

describe('passwords', () => {
  it('verify against their own hash only', async () => {
    const stored = await passwords.hash('correct horse battery')
    expect(stored).to.match(/^scrypt\$4\$8\$1\$[\w-]{22}\$[\w-]{43}$/)
    expect(await passwords.verify('correct horse battery', stored)).to.equal(true)
    expect(await passwords.verify('correct horse batterY', stored)).to.equal(false)
    expect(await passwords.verify('', stored)).to.equal(false)
  })

  it('verify against a hash that was stored before: scrypt as RFC 7914 has it', async () => {
    // Python: hashlib.scrypt(b'correct horse battery', salt=bytes(range(16)), n=16, r=8, p=1, dklen=32)
    const stored = 'scrypt$4$8$1$AAECAwQFBgcICQoLDA0ODw$coHb6LlzckOeOHbDHR6JGt8ViaJ_p4LgT4TcMJHWRUI'
    expect(await passwords.verify('correct horse battery', stored)).to.equal(true)
    expect(await passwords.verify('correct horse batterY', stored)).to.equal(false)
  })

  it('are salted', async () => {
    expect(await passwords.hash('same password')).to.not.equal(await passwords.hash('same password'))
  })

  it('cost 2^15 by default, and keep the cost they were made with', async () => {
    const stored = await createPasswords({ random: randomBytes }).hash('a long password')
    expect(stored).to.match(/^scrypt\$15\$/)
    expect(await passwords.verify('a long password', stored)).to.equal(true)
  })

  it('are the same in composed and decomposed form, as keyboards differ', async () => {
    const stored = await passwords.hash('Zürich-Zürich')
    expect(await passwords.verify('Zürich-Zürich'.normalize('NFD'), stored)).to.equal(true)
  })

  it('of nobody, or with a damaged hash, are wrong after the same derivation', async () => {
    expect(await passwords.verify('anything', undefined)).to.equal(false)
    for (const damaged of ['', 'scrypt$4$8$1$$', 'md5$x', 'scrypt$4$9$1$AAAA$AAAA']) {
      expect(await passwords.verify('anything', damaged), damaged).to.equal(false)
    }
    // One that cannot be done shows that it is begun.
    const beyondMemory = createPasswords({ random: randomBytes, cost: 40 })
    for (const stored of [undefined, 'md5$x']) {
      const failed = await beyondMemory.verify('anything', stored).catch((error: unknown) => error)
      expect(failed, String(stored)).to.be.instanceOf(Error)
    }
  })

  it('are derived a few at once, the rest in turn, and refused beyond the bound', async () => {
    const few = createPasswords({ random: randomBytes, cost: 10, atOnceMax: 1, waitingMax: 2 })
    const outcomes = await Promise.allSettled(Array.from({ length: 5 }, (_, at) => few.hash(`password ${at}`)))
    expect(outcomes.map(({ status }) => status)).to.deep.equal([
      'fulfilled',
      'fulfilled',
      'fulfilled',
      'rejected',
      'rejected',
    ])
    const refused = outcomes[3]
    expect(refused?.status === 'rejected' && refused.reason).to.have.property('name', 'TransientError')
    expect(await few.verify('later', undefined), 'works again').to.equal(false)
  })

  it('that are chosen have 10 characters or more, counted as people count them', () => {
    expect(passwordProblem('123456789')).to.include('10 characters')
    expect(passwordProblem('1234567890')).to.equal(undefined)
    expect(passwordProblem('🐎'.repeat(9))).to.include('10 characters')
    expect(passwordProblem('🐎'.repeat(10))).to.equal(undefined)
    expect(passwordProblem('x'.repeat(1_025))).to.include('1024')
  })
})

describe('the password of a person', () => {
  it('changed twice at once, by who has given the same one before, is changed once in all processes', async () => {
    const { directory, stream } = await openDirectory()
    const { id: workspaceId } = await createWorkspace(directory, 'Acme')
    const given = { email: 'ann@acme.example', password: 'the one before', workspaceId }
    const ann = valueOf(await directory.createUser(given))
    const { directory: other } = await openDirectory({ stream })
    const passwordPosition = directory.passwordPosition(ann.id)
    const outcomes = await Promise.all([
      directory.changePassword({ userId: ann.id, password: 'the first of two', passwordPosition }),
      other.changePassword({ userId: ann.id, password: 'the second of two', passwordPosition }),
    ])
    expect(outcomes.filter(({ ok }) => ok)).to.have.length(1)
    const isRight = outcomes.map(({ ok }) => ok)
    for (const each of [directory, other]) {
      const known = await Promise.all(
        ['the first of two', 'the second of two'].map((typed) => each.authenticate(ann.email, typed)),
      )
      expect(known.map((person) => person !== undefined)).to.deep.equal(isRight)
    }
    await Promise.all([directory, other].map((each) => each.close()))
  })
})
