import { expect } from 'chai'
import { plans } from '#src/config.ts'
import type { Key, KeyKind, WorkspacePlan } from '#src/directory/directory.ts'
import { workspaceIdOf, type WorkspaceId } from '#src/events/workspace-id.ts'
import { checkCredential, type Surface } from '#src/ingest/credential.ts'
import { createFakeDirectory, type FakeDirectory } from '#test/support/fake-directory.ts'

const surfaces: readonly Surface[] = ['traces', 'logs', 'rum', 'listing']

describe('ingest credential', () => {
  let directory: FakeDirectory
  let workspace: WorkspaceId
  let exposed: Key[]
  let keys: Record<KeyKind | 'writing', string>
  beforeEach(() => {
    directory = createFakeDirectory()
    workspace = directory.addWorkspace('acme')
    exposed = []
    keys = {
      publishable: directory.addKey(workspace, 'publishable'),
      logs: directory.addKey(workspace, 'logs'),
      tracing: directory.addKey(workspace, 'tracing'),
      api: directory.addKey(workspace, 'api'),
      writing: directory.addKey(workspace, 'api', { scopes: ['traces:read', 'logs:write'] }),
    }
  })
  const check = (surface: Surface, secrets: string | readonly string[], origin?: string) =>
    checkCredential(
      surface,
      { keys: [secrets].flat(), origin },
      { directory: directory.view, onExposed: (key) => exposed.push(key) },
    )
  const codeOf = (surface: Surface, secrets: string | readonly string[], origin?: string): string => {
    const result = check(surface, secrets, origin)
    return result.ok ? `ok ${result.value.workspaceId}` : result.error.code
  }

  const matrix: Readonly<Record<Surface, Readonly<Record<KeyKind | 'writing', string>>>> = {
    traces: {
      publishable: 'wrong_key_kind',
      logs: 'wrong_key_kind',
      tracing: 'ok acme',
      api: 'wrong_key_kind',
      writing: 'wrong_key_kind',
    },
    logs: {
      publishable: 'wrong_key_kind',
      logs: 'ok acme',
      tracing: 'wrong_key_kind',
      api: 'wrong_key_kind',
      writing: 'ok acme',
    },
    listing: {
      publishable: 'wrong_key_kind',
      logs: 'wrong_key_kind',
      tracing: 'wrong_key_kind',
      api: 'ok acme',
      writing: 'ok acme',
    },
    rum: {
      publishable: 'ok acme',
      logs: 'secret_key_in_browser',
      tracing: 'secret_key_in_browser',
      api: 'secret_key_in_browser',
      writing: 'secret_key_in_browser',
    },
  }
  for (const surface of surfaces) {
    for (const kind of ['publishable', 'logs', 'tracing', 'api', 'writing'] as const) {
      it(`${surface} answers a ${kind} key with ${matrix[surface][kind]}`, () => {
        expect(codeOf(surface, keys[kind])).to.equal(matrix[surface][kind])
      })
    }
    it(`${surface} wants a key, and one that it knows`, () => {
      expect(codeOf(surface, [])).to.equal('missing_credential')
      expect(codeOf(surface, 'pk_live_garbled')).to.equal('invalid_credential')
      const other = createFakeDirectory()
      const unknown = other.addKey(other.addWorkspace('other'), 'publishable')
      expect(codeOf(surface, unknown)).to.equal('invalid_credential')
    })
  }

  it('tells a mistyped key, and what is no key at all, from one that it does not know', () => {
    const detailOf = (secret: string): string => {
      const result = check('traces', secret)
      return result.ok ? 'ok' : result.error.detail
    }
    const other = createFakeDirectory()
    expect(detailOf(other.addKey(other.addWorkspace('other'), 'tracing'))).to.match(/^This key is not known\./)
    for (const cut of [keys.tracing.slice(0, -1), `${keys.tracing}"`, `${keys.tracing.slice(0, -1)}!`]) {
      expect(detailOf(cut)).to.match(/^This key is not whole, or has a mistake in it/)
    }
    // As they come from an env file, from a variable that was not set, and from a scheme that was written twice.
    for (const none of [`"Bearer ${keys.tracing}"`, `"${keys.tracing}"`, '${env:TOKEN}', `Bearer ${keys.tracing}`]) {
      expect(detailOf(none)).to.match(/^What was sent as the key is none: look for quotes or an unset variable/)
      expect(detailOf(none)).not.to.contain(none)
    }
  })

  it('names the right kind to who uses a wrong one', () => {
    const result = check('traces', keys.logs)
    expect(result.ok ? '' : result.error.detail).to.equal(
      'This is a logs source token (lt_…), which belongs to /api/logs/v1/ingest. ' +
        '/api/traces/v1/otlp takes a tracing source token (tt_…).',
    )
    const tracing = check('logs', keys.tracing)
    expect(tracing.ok ? '' : tracing.error.detail).to.match(/^This is a tracing source token \(tt_…\), which belongs/)
    const api = check('traces', keys.api)
    expect(api.ok ? '' : api.error.detail).to.match(/^This is a workspace API key \(wk_…\), which belongs/)
    const weak = check('logs', keys.api)
    expect(weak.ok ? '' : weak.error.detail).to.contain('without the scope logs:write')
    const blind = check('listing', directory.addKey(workspace, 'api', { scopes: ['logs:write'] }))
    expect(blind.ok ? '' : blind.error.detail).to.contain('without the scope traces:read')
  })

  it('does not look up a secret whose checksum is wrong', () => {
    codeOf('traces', `${keys.tracing.slice(0, -1)}${keys.tracing.endsWith('a') ? 'b' : 'a'}`)
    codeOf('traces', 'sk_live_whatever')
    expect(directory.lookups()).to.equal(0)
  })

  it('never shows a secret in what it says', () => {
    let refused = 0
    for (const surface of surfaces) {
      for (const secret of Object.values(keys)) {
        const result = check(surface, secret)
        if (result.ok) continue
        refused++
        expect(result.error.detail).not.to.contain(secret.slice(8))
      }
    }
    expect(refused).to.be.above(surfaces.length)
  })

  it('refuses a revoked key', () => {
    directory.revoke(keys.tracing)
    expect(codeOf('traces', keys.tracing)).to.equal('revoked_credential')
  })

  it('flags a known secret that comes where browsers send to, wherever it is presented', () => {
    expect(codeOf('rum', keys.tracing)).to.equal('secret_key_in_browser')
    expect(codeOf('rum', [keys.publishable, keys.logs])).to.equal('secret_key_in_browser')
    expect(codeOf('rum', 'sk_live_unknown')).to.equal('secret_key_in_browser')
    directory.revoke(keys.api)
    expect(codeOf('rum', keys.api)).to.equal('secret_key_in_browser')
    expect(exposed.map(({ kind }) => kind)).to.deep.equal(['tracing', 'logs'])
  })

  it('knows no key of a workspace that it does not know', () => {
    const secret = directory.addKey(workspaceIdOf('nowhere'), 'publishable')
    expect(codeOf('rum', secret)).to.equal('invalid_credential')
  })

  it('refuses secrets that come from a browser', () => {
    for (const origin of ['https://shop.example', 'null']) {
      expect(codeOf('traces', keys.tracing, origin)).to.equal('secret_in_browser')
      expect(codeOf('logs', keys.logs, origin)).to.equal('secret_in_browser')
    }
  })

  it('allows a publishable key from the origins of its list, which none match by prefix or suffix', () => {
    const secret = directory.addKey(workspace, 'publishable', { origins: ['https://shop.example'] })
    expect(codeOf('rum', secret, 'https://shop.example')).to.equal('ok acme')
    expect(codeOf('rum', secret)).to.equal('ok acme')
    for (const origin of [
      'null',
      'http://shop.example',
      'https://shop.example.evil.example',
      'https://evil-shop.example',
      'https://shop.example:8443',
    ]) {
      expect(codeOf('rum', secret, origin), origin).to.equal('origin_not_allowed')
    }
    expect(codeOf('rum', keys.publishable, 'https://anywhere.example')).to.equal('ok acme')
  })

  it('checks what the plan includes, after the key', () => {
    directory.setPlan('acme', plans['logs-only'] as WorkspacePlan)
    const traces = check('traces', keys.tracing)
    expect(traces.ok ? {} : traces.error).to.deep.include({ code: 'entitlement_required', feature: 'tracing' })
    expect(codeOf('logs', keys.logs)).to.equal('ok acme')
    directory.setPlan('acme', plans['tracing-only'] as WorkspacePlan)
    const logs = check('logs', keys.logs)
    expect(logs.ok ? {} : logs.error).to.deep.include({ code: 'entitlement_required', feature: 'logs' })
    expect(codeOf('traces', keys.tracing)).to.equal('ok acme')
    expect(codeOf('rum', keys.publishable)).to.equal('ok acme')
    expect(codeOf('traces', keys.logs)).to.equal('wrong_key_kind')
    const features = ['tracing', 'api_access'] as const
    for (const feature of features) {
      directory.setPlan('acme', {
        ...(plans['pro'] as WorkspacePlan),
        features: features.filter((each) => each !== feature),
      })
      const listing = check('listing', keys.api)
      expect(listing.ok ? {} : listing.error).to.deep.include({ code: 'entitlement_required', feature })
    }
  })
})
