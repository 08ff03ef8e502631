import { expect } from 'chai'
import { html } from '#src/app/html.ts'

describe('html', () => {
  it('escapes every value, so that it ends neither its text nor an attribute in either quotes', () => {
    expect(html`${`<b>"it's" & more</b>`}`.markup).to.equal('&lt;b&gt;&quot;it&#39;s&quot; &amp; more&lt;/b&gt;')
  })

  it('takes what is HTML already as it is, one by one or many, and shows nothing for undefined', () => {
    const items = ['a', '<'].map((text) => html`<b>${text}</b>`)
    expect(html`${items}${undefined}${html`<i>${7}</i>`}`.markup).to.equal('<b>a</b><b>&lt;</b><i>7</i>')
  })
})
