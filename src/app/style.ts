import { colours } from './service-colours.ts'

/** Depth beyond which spans are not indented further. */
export const depthMax = 24
/** A span's depth below its root, as far as it is drawn. */
const depths = Array.from({ length: depthMax + 1 }, (_, depth) => `.d${depth} { --depth: ${depth} }`).join('\n')

/** A service's colour, for its bars and for an edge beside its name. */
const serviceFills = colours
  .map(
    (colour, place) =>
      `circle.s${place}, rect.s${place} { fill: ${colour} } path.s${place} { stroke: ${colour} } .mark.s${place}, strong.s${place} { border-left: .35rem solid ${colour} }`,
  )
  .join('\n')

/** The only style sheet, at /app/style.css: our pages have no inline styles, so that the content policy can forbid them. */
export const style = `:root { color-scheme: light dark; --line: #8884; --edge: #767676; --accent: #2563eb; --on-accent: #fff; --bad: #b91c1c; --warn: #b45309 }
@media (prefers-color-scheme: dark) {
  :root { --edge: #949494; --accent: #8ab4ff; --on-accent: #000; --bad: #ff8a80; --warn: #f0a860 }
}
/* Stated because the colours of links and notes are chosen for these two. */
html { background: Canvas; color: CanvasText }
* { box-sizing: border-box }
body { margin: 0; font: 16px/1.5 system-ui, sans-serif }
header, main { max-width: 75rem; margin: 0 auto; padding: 1rem }
header { display: flex; flex-wrap: wrap; gap: .5rem 1.25rem; align-items: baseline; border-bottom: 1px solid var(--line) }
header strong { margin-right: auto }
header nav { display: flex; flex-wrap: wrap; gap: .25rem .75rem }
/* Names have no blanks to break at: a long one would make the page as wide as itself. */
p, h2, .mark, header { overflow-wrap: anywhere }
/* Stacked combining marks on one letter would be drawn over the lines above and below. */
p, h1, h2, th, td, .name, .said, main > ul > li, header > a { overflow: clip; overflow-clip-margin: .25rem }
/* Clipped by a path: with overflow of its own, WebKit aligns a mark by its lower edge, above the line that it is in. */
.mark { clip-path: inset(-.25rem) }
a { color: var(--accent) }
nav a { text-decoration: none }
.skip { position: absolute; left: -100rem }
.skip:focus { position: static }
h1 { font-size: 1.5rem }
.zone { float: right; margin: .6rem 0 0 1rem }
.zone label { display: flex; gap: .4rem; align-items: baseline; white-space: nowrap }
h2 { font-size: 1.15rem; margin-top: 2rem }
table { width: 100%; border-collapse: collapse }
th, td { padding: .4rem .5rem; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top; overflow-wrap: anywhere }
th[scope=col], .figures td { overflow-wrap: normal }
.cards td:is(:first-child, :last-child) { overflow-wrap: break-word }
.cards td:last-child > details > summary { white-space: nowrap }
p time { white-space: nowrap }
code, pre, output { font: .9em/1.4 ui-monospace, monospace }
pre { padding: .75rem; border: 1px solid var(--line); border-radius: .4rem; overflow-x: auto; white-space: pre-wrap; overflow-wrap: anywhere; tab-size: 2 }
.copy { display: flex; gap: .5rem; justify-content: flex-end; align-items: center; margin: .5rem 0 -.75rem }
.copy button { padding: .1rem .6rem; background: none; color: inherit; border-color: var(--edge) }
pre.place { white-space: pre }
form.stack { display: grid; grid-template-columns: minmax(0, 1fr); gap: .75rem; max-width: 24rem }
.notice pre, .id { user-select: all }
form.row { display: flex; flex-wrap: wrap; gap: .5rem; align-items: end; margin-bottom: .75rem }
label { display: grid; grid-template-columns: minmax(0, 1fr); gap: .2rem; font-size: .9rem }
label.check { display: flex; align-items: center; gap: .4rem }
::placeholder { color: inherit; opacity: .65 }
input, select, button { font: inherit; padding: .4rem .6rem; border: 1px solid var(--edge); border-radius: .4rem }
input, select { max-width: 100%; min-height: 2.4rem }
[type=checkbox], [type=radio] { min-height: 0 }
:is([name=from], [name=to]) { width: 14rem }
[aria-invalid] { border-color: var(--bad) }
button { cursor: pointer; overflow-wrap: normal; background: var(--accent); border-color: var(--accent); color: var(--on-accent) }
button.quiet { background: none; border: 0; padding: 0; color: inherit; text-decoration: underline }
button.danger { background: var(--bad); border-color: var(--bad) }
.problem { padding: .6rem .75rem; border-left: .25rem solid var(--bad) }
.notice { padding: .6rem .75rem; border-left: .25rem solid var(--accent) }
:is(.problem, .notice) > :first-child { margin-top: 0 }
:is(.problem, .notice) > :last-child { margin-bottom: 0 }
.note, .target { color: color-mix(in srgb, CanvasText 75%, Canvas) }
.note { font-size: .9rem }
fieldset { border: 1px solid var(--line); border-radius: .4rem; display: grid; gap: .3rem }
.tabs { display: flex; flex-wrap: wrap; gap: .25rem 1rem; margin-bottom: 1rem }
[aria-current] { color: inherit; font-weight: bold; text-decoration: none }
.steps > li { margin-bottom: 1rem }
/* Includes rows that a small screen shows as cards. */
tr[hidden] { display: none !important }
details { margin: .5rem 0 }
summary { cursor: pointer }
summary strong { padding-left: .3rem }
form.search { display: flex; flex-wrap: wrap; gap: .5rem; align-items: end; margin-bottom: 1rem }
form.search > label { flex: 1 1 12rem }
form.search > details { flex: 1 1 100%; margin: 0; font-size: .9rem; overflow-wrap: anywhere }
form.search .inputs { font-size: 1rem; margin-top: .5rem }
.inputs { display: flex; flex-wrap: wrap; gap: .5rem; align-items: end }
/* An open record gets the whole width, not only the last column. If a browser cannot lay out a fold as a grid, it stays in the last column. */
@supports selector(::details-content) {
  @media (min-width: 45.01rem) {
    .logs { display: grid; grid-template-columns: max-content max-content fit-content(20%) minmax(0, 1fr) }
    .logs > *, .logs > * > tr, .logs > tbody > tr > td:last-child, .logs td:last-child > details { display: grid; grid-column: 1 / -1; grid-template-columns: subgrid }
    .logs > * > tr { border-bottom: 1px solid var(--line) }
    .logs > * > tr > * { border-bottom: 0 }
    .logs > tbody > tr > td { grid-row: 1; z-index: 1; align-self: start }
    .logs > tbody > tr > td:nth-child(1) { grid-column: 1 }
    .logs > tbody > tr > td:nth-child(2) { grid-column: 2 }
    .logs > tbody > tr > td:nth-child(3) { grid-column: 3 }
    .logs > tbody > tr > td:last-child { width: auto; padding: 0; z-index: 0 }
    .logs td:last-child > details > summary { grid-column: 4; padding: .15rem .5rem .15rem 0; margin-left: calc(1.1em + .5rem) }
    .logs td:last-child > details::details-content { grid-column: 1 / -1; padding: 0 .5rem }
  }
}
/* If a browser cannot show the content of a closed fold, its summary stays and opens it. */
@supports selector(::details-content) {
  @media (min-width: 45.01rem) {
    .filters > summary { display: none }
    .filters::details-content { content-visibility: visible }
    form.search .inputs { margin: 0 }
  }
}
kbd { padding: 0 .3rem; border: 1px solid var(--edge); border-radius: .3rem; font: .9em ui-monospace, monospace }
.help code { display: inline-block; margin-right: .75rem }
.help th, .help td { padding: .2rem .5rem }
fieldset.row { display: flex; flex-wrap: wrap; gap: .75rem }
p.row { display: flex; flex-wrap: wrap; gap: .25rem 1rem; align-items: baseline }
.time { white-space: nowrap; font-variant-numeric: tabular-nums }
.logs td { padding: .15rem .5rem; font-size: .9rem }
td > details { margin: 0 }
/* The focus outline is drawn inside: WebKit clips what is drawn outside a cell. */
.logs summary { list-style-position: outside; margin-left: 1.1em }
.logs summary:focus-visible { outline: 2px solid var(--accent); outline-offset: -2px }
#here { scroll-margin-top: 40vh }
:is(#origins, #own-times) { scroll-margin-top: 5rem }
#shown { scroll-margin-top: 1rem }
/* Leaves room for the lines above: the parent spans, or the records before. */
.line, .logs tr { scroll-margin-top: 6rem }
tr[aria-current], tr:target, .line[aria-current], .line:target, .origin:target { font-weight: normal; outline: 2px solid var(--accent); outline-offset: -2px }
tr.warn .level { color: var(--warn) }
tr.error .level, tr.fatal .level, .bad { color: var(--bad) }
mark { background: #facc15; color: #000 }
.mark { display: inline-block; padding: 0 .4rem; border: 1px solid var(--line); border-radius: .4rem; font-size: .85rem }
.logs td:last-child { width: 75% }
.logs .service { min-width: 8rem }
.traces thead a { display: inline-block; line-height: 1.5rem }
.traces td:nth-child(2) { min-width: min(16rem, 22vw) }
.sessions.cards td { overflow-wrap: anywhere }
.sessions :is(th[scope=row], small) { font-weight: normal }
.sessions .mark { white-space: nowrap }
.patterns th p { margin: .2rem 0 0; font-size: .9rem }
.patterns td { overflow-wrap: anywhere }
.patterns [data-head=Service] { min-width: 8rem }
.patterns .bar { height: 1rem }
.patterns .level { min-width: 5rem }
.histogram { display: block; width: 100%; height: 5rem; margin: .5rem 0 0; border-bottom: 1px solid var(--line) }
.scatter { display: block; width: 100%; height: 8rem; margin: 1rem 0 .4rem; overflow: visible; border-bottom: 1px solid var(--line) }
/* Centres each mark on its point, also at the ends. */
.scatter rect { transform: translate(-5px, -5px) }
.scatter a:is(:hover, :focus-visible) > :is(rect, circle) { stroke: currentColor; stroke-width: 3 }
.clock { display: block; overflow: visible; width: 100%; height: 1.2rem; font-size: .8rem; fill: currentColor; text-anchor: middle }
.axis { display: flex; flex-wrap: wrap; gap: 0 1rem; justify-content: space-between; margin: 0 0 .75rem }
.figures tbody th { font-weight: normal }
.figures strong { padding-left: .3rem }
table + .tabs { margin-top: .75rem }
.figures .number { text-align: right; font-variant-numeric: tabular-nums }
.figures .bar { margin-left: auto }
.bar { display: block; width: 100%; min-width: 5rem; max-width: 12rem; height: .5rem; margin-top: .35rem }
:is(.logs, .traces) > thead:not(:has(~ tbody > tr)) { display: none }
.facets ul { list-style: none; margin: 0 0 .75rem; padding: 0; display: grid; gap: .35rem; font-size: .9rem }
.facets li { display: flex; flex-wrap: wrap; gap: .35rem; align-items: baseline }
.facets strong { min-width: 5rem }
.facets a { text-decoration: none; overflow-wrap: anywhere }
.facets .not { min-width: 1.6rem; margin-left: -.25rem; text-align: center }
.facets details { margin: 0 }
.facets details[open] { flex: 1 1 100% }
.facets details > a { margin-top: .35rem }
.facets a[aria-current] { border-color: currentColor }
rect, circle { fill: var(--accent) }
.map { overflow-x: auto; margin: 1rem 0 .4rem }
.map > svg { display: block }
@media (min-width: 60rem) {
  .map.whole > svg { max-width: 100%; height: auto }
}
.map text { fill: CanvasText; font-size: .8rem; unicode-bidi: isolate }
.map .name { font-size: .9rem; font-weight: bold }
.map a .name { fill: var(--accent) }
.map .box { fill: Canvas; stroke: var(--edge); stroke-width: 1.5 }
.map .unseen .box { stroke-dasharray: 5 3 }
.map path { fill: none; stroke: var(--edge) }
.map .head { fill: var(--edge); stroke: none }
.map .failed :is(.box, .line) { stroke: var(--bad) }
.map .failed .head:not(.begin) { fill: var(--bad) }
.map .edge text { text-anchor: middle; paint-order: stroke; stroke: Canvas; stroke-width: 5px }
.map .edge.failed text { fill: var(--bad) }
.map .reach { stroke: transparent; stroke-width: 14; pointer-events: stroke }
.map a:is(:hover, :focus-visible) :is(.box, .line) { stroke: currentColor; stroke-width: 3 }
/* Only if the script that handles drags is there. */
.drag { cursor: crosshair }
.histogram, [data-zoom] { touch-action: pan-y; user-select: none }
rect.whole { fill: transparent }
a:is(:hover, :focus-visible) > rect.whole { fill: var(--line) }
rect.chosen { fill: var(--accent); opacity: .3; pointer-events: none }
rect.error { fill: var(--bad) }
rect.critical { fill: CanvasText }
[data-zoom] { position: relative }
.overview { margin: .75rem 0 .25rem; border: 1px solid var(--line) }
.overview svg { display: block; width: 100%; height: 3rem }
path.error { stroke: var(--bad) }
rect.aside { fill: Canvas; opacity: .7 }
rect.shown { fill: none; stroke: var(--accent); stroke-width: 2; vector-effect: non-scaling-stroke }
div.chosen { position: absolute; top: 0; bottom: 0; background: var(--accent); opacity: .3; pointer-events: none }
.line:has(> summary :is(.before, .after)) > summary { color: color-mix(in srgb, CanvasText 75%, Canvas) }
.after { display: block; text-align: right }
.zoom { margin: .25rem 0 }
.zoom:last-child { margin-bottom: .75rem }
.waterfall { --step: .75rem; font-size: .9rem }
.waterfall ul { list-style: none; margin: 0; padding: 0 }
.waterfall li { position: relative }
.heads, .line > summary, div.line { display: grid; grid-template-columns: minmax(0, 1fr) 40% 6rem; gap: 0 .5rem; padding: .15rem 0; min-height: 1.8rem; border-bottom: 1px solid var(--line); overflow-wrap: anywhere }
.heads { font-weight: bold }
details.line, .below { margin: 0 }
.line > summary:hover { background: var(--line) }
.line .name { padding-left: calc(4rem + var(--depth) * var(--step)); text-indent: -.8rem }
.line > summary > .name::before { content: '▸'; content: '▸' / ''; display: inline-block; width: .8rem; text-indent: 0 }
.line .name > * { text-indent: 0 }
.line[open] > summary > .name::before { content: '▾'; content: '▾' / '' }
.line > :not(summary) { margin: .3rem .8rem }
.line > table { width: calc(100% - 1.6rem) }
.below > summary { position: absolute; top: .15rem; left: calc(var(--depth) * var(--step)); min-width: 2.6rem; padding: 0 .25rem; border: 1px solid var(--edge); border-radius: .4rem; font-size: .75rem; line-height: 1.4rem; text-align: center; white-space: nowrap; list-style: none }
.below > summary::-webkit-details-marker { display: none }
.below > summary::before { content: '+ '; content: '+ ' / '' }
.below[open] > summary::before { content: '− '; content: '− ' / '' }
.timeline .bar { max-width: none }
.timeline .bar > :first-child { height: 100% }
#critical-path > summary { overflow-wrap: anywhere }
#critical-path > summary svg { display: inline-block; width: 2rem; height: .5rem }
.line .timeline { background: linear-gradient(to right, var(--line) 1px, transparent 1px) content-box; background-size: 25% 100% }
.ticks { display: grid; grid-template-columns: repeat(4, minmax(0, 1fr)); font-size: .8rem; font-weight: normal; white-space: nowrap }
.ticks > span { border-left: 1px solid var(--line); padding-left: .2rem; display: flex; gap: .2rem; justify-content: space-between }
.missing > .line .timeline { background: repeating-linear-gradient(135deg, var(--line) 0 1px, transparent 1px 8px) }
.missing > .line { border-left: .25rem solid var(--bad) }
.missing > .line .name { text-indent: 0 }
.moments { --time: 11.5rem }
/* A time that is not UTC has its offset behind it. */
.local .moments { --time: 15rem }
.moments { list-style: none; margin: 0; padding: 0; font-size: .9rem }
.moments > li, .moments.heads { display: grid; grid-template-columns: var(--time) 5.5rem 4rem minmax(0, 1fr); gap: 0 .75rem; padding: .15rem 0; min-height: 0; border-bottom: 1px solid var(--line); overflow-wrap: anywhere }
.moments .gap { text-align: right }
.moments strong { padding-left: .3rem }
.moments details { margin: 0 }
caption { text-align: left; font-weight: bold; font-size: .85rem; padding-top: .5rem }
.fields td span { margin-left: .6rem; font-size: .8rem; white-space: nowrap }
.fields th, .fields td, .logs .fields td { padding: .25rem .5rem }
.fields th { width: min(30%, 15rem); font-weight: normal; opacity: .75 }
${depths}
${serviceFills}
@media (max-width: 45rem) {
  main { overflow-x: auto }
  /* The menu in two lines. */
  header nav { gap: .25rem .4rem; font-size: .9rem }
  h1 { margin: .3rem 0 }
  /* Beside the choice of a zone there is only room for the title. */
  h1 + * { clear: right }
  .tabs { gap: .1rem .7rem }
  .tabs, form.search { margin-bottom: .5rem }
  form.search > details:not([open]) { flex: 0 1 auto; margin-right: 1rem }
  :is([name=from], [name=to]) { width: auto }
  th, td { padding: .3rem .25rem; min-width: 5rem }
  .logs td { padding: .15rem .25rem }
  .logs td, .logs th, .logs .service, .fields td { min-width: 0 }
  .time { white-space: normal; min-width: 7.5rem }
  .logs, .traces, :is(.logs, .traces) > * { display: block }
  :is(.logs, .traces) > * > tr { display: grid; border-bottom: 1px solid var(--line) }
  :is(.logs, .traces) thead th { font-size: .85rem }
  .logs thead th:last-child, .traces thead th:is(:nth-child(2), :nth-child(3)) { position: absolute; left: -100rem }
  .logs > * > tr { display: flex; flex-wrap: wrap }
  .logs > * > tr > :nth-child(3) { flex: 1 1 auto }
  .logs > * > tr > :last-child { flex: 1 1 100% }
  .waterfall { --step: .2rem }
  .line > summary, div.line { grid-template-columns: minmax(0, 1fr) 6rem }
  .line .name { grid-column: 1 / -1 }
  .line .time { min-width: 0 }
  .line > :not(summary) { margin: .3rem 0 }
  .line > table { width: 100% }
  .heads, .moments.heads { display: none }
  .moments > li { display: flex; flex-wrap: wrap; gap: 0 .5rem; align-items: baseline }
  .moments .time { white-space: nowrap; min-width: 0 }
  .histogram { height: 3.5rem }
  .count { margin: .3rem 0 0 }
  .durations { margin: 0 }
  .durations > summary { font-size: .85rem }
  .axis { font-size: .8rem }
  .axis > :nth-child(2) { order: 1; flex-basis: 100% }
  .moments .gap:empty { display: none }
  .moments .said { flex: 1 1 100% }
  .traces > * > tr { grid-template-columns: max-content minmax(0, 1fr) }
  :is(.logs, .traces) > * > tr > * { border-bottom: 0; min-width: 0 }
  .logs td:last-child { width: auto }
  .traces td:nth-child(2) { min-width: 0 }
  .traces > * > tr > * { grid-column: 1 / -1 }
  .traces > * > tr > :nth-child(2) { order: -1 }
  .traces > * > tr > :nth-child(1) { grid-column: 1 }
  .traces > * > tr > :nth-child(4) { grid-area: 2 / 2 }
  .traces > thead > tr { grid-template-columns: repeat(3, max-content) }
  .traces > thead > tr > :nth-child(4) { grid-area: 1 / 2 }
  .traces > thead > tr > :nth-child(5) { grid-area: 1 / 3 }
  .facets li { flex-wrap: nowrap; overflow-x: auto; padding: .15rem; white-space: nowrap }
  /* Each is as wide as its words: WebKit shrinks text that may break anywhere to one letter, although nothing breaks here. */
  .facets li > * { flex: none }
  .facets li:has(> details[open]) { flex-wrap: wrap; white-space: normal }
  .facets li > details[open] { flex: 1 1 100% }
  .facets ul { gap: .1rem; margin-bottom: .3rem }
  :is(.logs, .traces) .time { white-space: nowrap }
  :is(.logs, .traces, .moments) .time { font-size: .8rem }
  .fields th, .fields td { display: block; width: auto }
  .cards, .cards > *, .cards > * > tr > * { display: block; border-bottom: 0 }
  .cards > thead { position: absolute; left: -100rem }
  .cards > tbody > tr { display: flex; flex-wrap: wrap; column-gap: 1rem; padding: .4rem 0; border-bottom: 1px solid var(--line) }
  .cards > * > tr > th { flex: 1 1 100% }
  .cards td { min-width: 0 }
  .cards td::before { content: attr(data-head); content: attr(data-head) / ''; display: block; font-size: .8rem; color: color-mix(in srgb, CanvasText 75%, Canvas) }
  .figures.cards .number { text-align: left }
  /* Three or four per line: otherwise the last of five or seven would be alone. */
  .figures.cards > tbody > tr:has(> :nth-child(6)) { display: grid; grid-template-columns: repeat(3, minmax(min-content, 1fr)) }
  .figures.cards > tbody > tr:has(> :nth-child(8)) { grid-template-columns: repeat(4, minmax(min-content, 1fr)) }
  .figures.cards > tbody > tr:has(> :nth-child(6)) > th { grid-column: 1 / -1 }
  .timeline .bar, .traces .bar { min-width: 3rem }
  .ticks { display: none }
}
/* Two ticks do not fit beside each other in the last quarter. */
@media (max-width: 73rem) {
  .ticks > :last-child { justify-content: end }
  .ticks > :last-child > :first-child { display: none }
}
/* Session ids have no blanks to break at: columns of one line, such as times, would take all room from them. */
@media (min-width: 45.01rem) {
  .sessions th[scope=row] { width: 40% }
  .sessions td:nth-child(3) { min-width: 6.5rem }
  .sessions td:nth-child(4) { width: 14% }
  .sessions td:nth-child(5) { width: 20% }
}
@media (max-width: 60rem) {
  .sessions .time { white-space: normal }
  .sessions time { white-space: nowrap }
}
/* On a narrower window whole counts would make the page wider than it. */
@media (min-width: 60rem) {
  .traces td:last-child .mark { white-space: nowrap }
}
/* Four ticks with day and hour do not fit. */
@media (max-width: 32rem) {
  .clock [data-part='5 16']:nth-child(even), .local .clock [data-part='5 10']:nth-child(even) { display: none }
}
/* A printed page cannot be scrolled. */
@media print {
  .map > svg { max-width: 100%; height: auto }
  .facets li { flex-wrap: wrap; white-space: normal }
  .facets li > * { flex: initial }
}
`
