/** The only style sheet, at /app/style.css: our pages have no inline styles, so that the content policy can forbid them. */
export const style = `:root { color-scheme: light dark; --line: #8884; --accent: #2563eb; --bad: #b91c1c }
* { box-sizing: border-box }
body { margin: 0; font: 16px/1.5 system-ui, sans-serif }
header, main { max-width: 60rem; margin: 0 auto; padding: 1rem }
header { display: flex; flex-wrap: wrap; gap: .5rem 1.25rem; align-items: baseline; border-bottom: 1px solid var(--line) }
header strong { margin-right: auto }
h1 { font-size: 1.5rem }
h2 { font-size: 1.15rem; margin-top: 2rem }
table { width: 100%; border-collapse: collapse }
th, td { padding: .4rem .5rem; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top; overflow-wrap: anywhere }
code, pre, output { font: .9em/1.4 ui-monospace, monospace }
pre { padding: .75rem; border: 1px solid var(--line); border-radius: .4rem; overflow-x: auto; white-space: pre-wrap; overflow-wrap: anywhere }
form.stack { display: grid; gap: .75rem; max-width: 24rem }
form.row { display: flex; flex-wrap: wrap; gap: .5rem; align-items: end }
label { display: grid; gap: .2rem; font-size: .9rem }
label.check { display: flex; align-items: center; gap: .4rem }
input, select, button { font: inherit; padding: .4rem .6rem; border: 1px solid var(--line); border-radius: .4rem }
button { cursor: pointer; background: var(--accent); border-color: var(--accent); color: #fff }
button.quiet { background: none; border: 0; padding: 0; color: inherit; text-decoration: underline }
button.danger { background: var(--bad); border-color: var(--bad) }
.problem { padding: .6rem .75rem; border-left: .25rem solid var(--bad) }
.notice { padding: .6rem .75rem; border-left: .25rem solid var(--accent) }
.note { opacity: .75; font-size: .9rem }
fieldset { border: 1px solid var(--line); border-radius: .4rem; display: grid; gap: .3rem }
.tabs { display: flex; flex-wrap: wrap; gap: 1rem; margin-bottom: 1rem }
[aria-current] { font-weight: bold; text-decoration: none }
.steps > li { margin-bottom: 1rem }
details { margin: .5rem 0 }
summary { cursor: pointer }
`
