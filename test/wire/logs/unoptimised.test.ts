import { globSync } from 'node:fs'
import { expect } from 'chai'
import { runVerb } from '#test/support/run-program.ts'

describe('what is read out of logs', () => {
  it('is the same once V8 optimises no regular expression any more, as after a megabyte of their code', async () => {
    // In V8 13.6 a group of modifiers, `(?i:…)`, then matches no letter in another case.
    const files = globSync('test/wire/logs/{level*,*-in-text,names,golden}.test.ts').sort()
    expect(files).to.have.length.above(4)
    const argv = ['--no-regexp-optimization', 'node_modules/mocha/bin/mocha.js', '--exit', ...files]
    const { code, out, err } = await runVerb(argv, process.env)
    expect(code, `${out}${err}`).to.equal(0)
    expect(out).to.match(/^ +\d{3,} passing/m)
  })
})
