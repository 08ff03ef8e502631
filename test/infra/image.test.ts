import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { elasticsearch } from '../../infra/engines/native-elasticsearch.ts'
import { elasticsearchImage, natsImage } from '../../infra/engines/images.ts'
import { makeSecrets, read } from './manifest.ts'

describe('infra/Dockerfile', () => {
  const dockerfile = read('Dockerfile')
  const { dependencies } = JSON.parse(readFileSync('package.json', 'utf8')) as { dependencies: Record<string, string> }

  it('has the Node of the lockfile', () => {
    const bases = [...dockerfile.matchAll(/^FROM node:([\d.]+)-/gm)].map(([, version]) => version)
    expect(bases).to.have.length(2)
    expect(new Set(bases)).to.deep.equal(new Set([dependencies['node']]))
  })

  it('copies what is there, and what its context lets through', () => {
    const copied = [...dockerfile.matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(([, files = '']) => files.split(' '))
    const allowed = read('Dockerfile.dockerignore').match(/(?<=^!).+$/gm)
    expect([...new Set(copied)].sort()).to.deep.equal([...(allowed ?? [])].sort())
    for (const file of copied) expect(existsSync(file), file).to.equal(true)
  })

  it('has every package that the server imports: those are no dependencies of development alone', () => {
    const statement = /^(?:import|export) (?!type )[^;]*? from '((?:@[^/']+\/)?[^@#./'][^/']*)/gm
    const imported = globSync('{src,streams,projections}/**/*.ts').flatMap((file) => {
      // Pages show programs that import what their writer is to install.
      const ours = readFileSync(file, 'utf8').replaceAll(/`(?:\\.|[^`\\])*`/g, '')
      return [...ours.matchAll(statement)].map(([, name = '']) => name)
    })
    const packages = new Set(imported.filter((name) => !name.startsWith('node:')))
    expect(packages).to.include('koa')
    expect([...packages].filter((name) => !(name in dependencies))).to.deep.equal([])
  })
})

describe('infra/engines', () => {
  it('names one version of each server everywhere', () => {
    const version = /nats-server\/v2 v(\S+)/.exec(readFileSync('infra/engines/nats-server/go.mod', 'utf8'))?.[1]
    expect(natsImage).to.equal(`nats:${version}-alpine`)
    expect(elasticsearchImage).to.match(new RegExp(`:${elasticsearch.version}$`))
  })
})

describe('infra/secrets.sh', () => {
  it('makes five secrets anew each time, which all who read them take as text', () => {
    const [first, second] = [makeSecrets(), makeSecrets()]
    const names = ['ELASTIC_PASSWORD', 'KEY_PEPPER', 'NATS_PASSWORD', 'NATS_ROUTE_PASSWORD', 'SESSION_KEYS']
    expect(Object.keys(first).sort()).to.deep.equal(names)
    for (const [name, value] of Object.entries(first)) {
      expect(value, name).to.match(name.startsWith('NATS') ? /^p[0-9a-f]{64}$/ : /^[0-9a-f]{64}$/)
      expect(value).not.to.equal(second[name])
    }
  })

  it('does not overwrite those of a cluster, by the command that every file gives', () => {
    const commands = ['README.md', 'compose.yaml', 'kustomization.yaml', 'secrets.sh'].map(
      (file) => /\(umask .*? > infra\/\.env\)/.exec(read(file))?.[0],
    )
    const [command = ''] = commands
    expect(new Set(commands)).to.deep.equal(new Set([command]))
    const folder = mkdtempSync(join(tmpdir(), 'throughline-secrets-'))
    try {
      cpSync('infra/secrets.sh', join(folder, 'infra', 'secrets.sh'))
      const runs = [1, 2].map(() => {
        const { status } = spawnSync('/bin/sh', ['-c', command], { cwd: folder })
        return { made: status === 0, secrets: readFileSync(join(folder, 'infra', '.env'), 'utf8') }
      })
      expect(runs.map(({ made }) => made)).to.deep.equal([true, false])
      expect(runs[1]?.secrets).to.equal(runs[0]?.secrets)
    } finally {
      rmSync(folder, { recursive: true })
    }
  })
})
