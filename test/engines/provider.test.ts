import { expect } from 'chai'
import { chooseProvider } from '../../infra/engines/provider.ts'
import { failureOf } from './failure-of.ts'

describe('where engines come from', () => {
  const yes = () => Promise.resolve(true)
  const no = () => Promise.resolve(false)
  const mustNotAsk = () => Promise.reject(new Error('it asked'))

  it('is Docker where it answers', async () => expect(await chooseProvider(undefined, yes)).to.equal('docker'))
  it('is this machine where it does not', async () => expect(await chooseProvider('', no)).to.equal('native'))
  it('is what ENGINES says', async () => {
    expect(await chooseProvider('native', mustNotAsk)).to.equal('native')
    expect(await chooseProvider('docker', yes)).to.equal('docker')
  })
  it('is refused in one line when ENGINES asks for what is not there', async () => {
    expect(await failureOf(chooseProvider('docker', no))).to.equal('ENGINES is "docker", but no Docker engine answers.')
    expect(await failureOf(chooseProvider('podman', yes))).to.equal('ENGINES is "podman", and may be docker or native.')
  })
})
