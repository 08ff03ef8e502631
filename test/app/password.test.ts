import { expect } from 'chai'
import { createBrowser, faultIn, openSite, password, type Browser, type Site } from './harness.ts'
import { eachSignedIn } from './signed-in.ts'

const email = 'ann@acme.example'

describe('the password page', () => {
  let site: Site
  let browser: Browser
  eachSignedIn((given) => ({ site, browser } = given))

  const change = (fields: Readonly<Record<string, string>>) =>
    browser.post('/app/password', {
      current: password,
      password: 'another password',
      repeated: 'another password',
      ...fields,
    })

  it('changes it, ends all other sessions and goes on in this one under a new id', async () => {
    const elsewhere = createBrowser(site)
    await elsewhere.post('/app/sign-in', { email, password })
    const stolen = createBrowser(site)
    for (const [name, value] of browser.cookies) stolen.cookies.set(name, value)
    const answer = await change({})
    expect(answer.status, 'a reload sends nothing again').to.equal(303)
    const told = await browser.get(answer.location ?? '')
    expect(told.text).to.include('Your password is changed')
    expect((await browser.get('/app/password?changed=1')).text).to.not.include('Your password is changed')
    expect((await browser.get('/who')).status, 'this browser').to.equal(200)
    expect((await elsewhere.get('/who')).status, 'another browser').to.not.equal(200)
    expect((await stolen.get('/who')).status, 'the id before').to.not.equal(200)
    expect((await elsewhere.post('/app/sign-in', { email, password })).status).to.equal(401)
    expect((await elsewhere.post('/app/sign-in', { email, password: 'another password' })).status).to.equal(303)
  })

  it('does not change it without the current one, nor to a short one, nor to two different ones', async () => {
    for (const [fields, status, wrong] of [
      [{ current: 'not the password' }, 403, 'current'],
      [{ password: 'short', repeated: 'short' }, 400, 'password'],
      [{ repeated: 'something else' }, 400, 'repeated'],
    ] as const) {
      const answer = await change(fields)
      expect([answer.status, faultIn(answer.text)]).to.deep.equal([status, wrong])
    }
    expect((await createBrowser(site).post('/app/sign-in', { email, password })).status).to.equal(303)
  })

  it('is guessed by a stolen session no faster than by anybody else', async () => {
    const strict = await openSite({ opened: site, perMinute: 3 })
    const thief = createBrowser(strict)
    await thief.post('/app/sign-in', { email, password })
    const guess = (current: string) => thief.post('/app/password', { current, password: 'short', repeated: 'short' })
    // A right one counts for nothing.
    for (let times = 0; times < 5; times++) expect((await guess(password)).status).to.equal(400)
    for (let times = 0; times < 3; times++) expect((await guess('a guess')).status).to.equal(403)
    const { status, headers } = await guess(password)
    expect([status, headers.get('retry-after')]).to.deep.equal([429, '20'])
    await strict.close()
  })

  it('does not change it for who knows the one before, where another was set meanwhile', async () => {
    const { authenticate } = site.directory
    site.directory.authenticate = async (...given) => {
      const user = await authenticate(...given)
      await site.directory.changePassword({ userId: user?.id ?? '', password: 'set by the operator' })
      return user
    }
    const answer = await change({})
    site.directory.authenticate = authenticate
    expect([answer.status, faultIn(answer.text)]).to.deep.equal([400, 'current'])
    expect((await browser.get('/who')).status, 'signed out by the operator').to.not.equal(200)
    const signIn = async (typed: string) =>
      (await createBrowser(site).post('/app/sign-in', { email, password: typed })).status
    expect(await signIn('another password')).to.equal(401)
    expect(await signIn('set by the operator')).to.equal(303)
  })
})
