import { html, type Html } from '../html.ts'
import { traceAddress } from '../trace-address.ts'
import { layOut, type Layout, type Place } from './graph-layout.ts'
import type { GraphLinks, Looks } from './graph-links.ts'
import { edgeLabel, edgeWords, factsOf, nodeWords, plainName } from './graph-words.ts'
import { rankedEdges, rankedNodes } from './ranking.ts'
import type { MapEdge, MapNode, ServiceGraph } from './service-graph.ts'

/** In px: the size of boxes, the least room between them, and the margins, also for the arrows that come from the left or lead back below. */
const [boxWidth, boxHeight, gapMin, gapY] = [188, 64, 110, 26]
const [left, top, below] = [34, 10, 44]
const headLength = 8
const lineHeight = 18
/** The most that a character of a label takes on average, px: digits are among the wider ones. */
const characterWidth = 7
/** How far arrows that lead back hang below their boxes, px. */
const sag = 40
/** Characters of a name per line of a box; wider text is clipped. */
const nameCharactersMax = 18
/** Up to this width, px, a drawing shrinks to a page that is wide enough, and stays readable. */
const shrinksUpTo = 1_700
/** As many as can still be told apart. */
const [nodesMax, edgesMax] = [40, 100]

type Point = Readonly<{ x: number; y: number }>

const middleOf = ({ y }: Point): number => y + boxHeight / 2
/** Labels are drawn below the boxes, so each needs its whole width: half a number would be another number. */
const labelWidth = (edge: MapEdge): number => edgeLabel(edge).length * characterWidth

export type Drawn = ServiceGraph & Readonly<{ nodesLeft: number; edgesLeft: number }>

/** The part of a graph that is drawn, ordered by names, so that it looks alike the next time. */
export function drawnOf(graph: ServiceGraph): Drawn {
  const shown = new Set(rankedNodes(graph).slice(0, nodesMax))
  const within = graph.edges.filter(({ from, to }) => shown.has(from) && shown.has(to))
  const shownEdges = rankedEdges(within).slice(0, edgesMax)
  return {
    nodes: [...shown].sort((a, b) => Number(b.begins > 0) - Number(a.begins > 0) || (a.key < b.key ? -1 : 1)),
    edges: shownEdges.toSorted((a, b) => (a.key < b.key ? -1 : 1)),
    nodesLeft: graph.nodes.length - shown.size,
    edgesLeft: graph.edges.length - shownEdges.length,
  }
}

/** A link around the content, or the content alone if no search finds it. */
const linked = (address: string | undefined, inner: Html): Html =>
  address === undefined ? html`<g>${inner}</g>` : html`<a href="${address}">${inner}</a>`

const curve = (from: Point, to: Point): string => {
  const bend = (from.x + to.x) / 2
  return `C${bend} ${from.y} ${bend} ${to.y} ${to.x} ${to.y}`
}

type Line = Readonly<{ path: string; head: string; label: Point }>

/** Where an arrow's label is on its curve: nearer to the end that fewer arrows share. */
const [nearStart, nearEnd] = [
  { x: 0.34, y: 0.22 },
  { x: 0.66, y: 0.78 },
] as const

/** The place nearest to the wanted one that has room for the whole label. */
const within = (wanted: number, from: number, to: number, room: number): number =>
  Math.min(Math.max(wanted, from + room / 2), to - room / 2)

/** An arrow from the right of one box to the left of another, straight past boxes between. The points are the boxes' corners. */
function onward(through: readonly Point[], { edge, near }: ArrowOfEdge): Line {
  const places = through.map((corner) => ({ x: corner.x, y: middleOf(corner) }))
  const [begin = { x: 0, y: 0 }, ...others] = places
  let at: Point = { x: begin.x + boxWidth, y: begin.y }
  let path = `M${at.x} ${at.y}`
  let label: Point | undefined
  for (const [step, place] of others.entries()) {
    const isLast = step === others.length - 1
    const to = isLast ? { x: place.x - headLength, y: place.y } : place
    label ??= {
      x: within(at.x + (to.x - at.x) * near.x, at.x, place.x, labelWidth(edge)),
      y: at.y + (to.y - at.y) * near.y,
    }
    path += curve(at, to)
    if (!isLast) path += `H${place.x + boxWidth}`
    at = { x: place.x + boxWidth, y: place.y }
  }
  const end = others.at(-1) ?? begin
  const head = `M${end.x - headLength} ${end.y - 5}L${end.x} ${end.y}l${-headLength} 5z`
  return { path, head, label: label ?? at }
}

/** An arrow from below one box to below another on its left. */
function backward([from, to]: readonly Point[]): Line {
  const bottomOf = ({ x, y }: Point = { x: 0, y: 0 }): Point => ({ x: x + boxWidth / 2, y: y + boxHeight })
  const [begin, end] = [bottomOf(from), bottomOf(to)]
  const deepest = Math.max(begin.y, end.y) + sag
  const path = `M${begin.x} ${begin.y}C${begin.x} ${deepest} ${end.x} ${deepest} ${end.x} ${end.y + headLength}`
  const head = `M${end.x - 5} ${end.y + headLength}L${end.x} ${end.y}l5 ${headLength}z`
  return { path, head, label: { x: (begin.x + end.x) / 2, y: (begin.y + end.y) / 8 + (deepest * 3) / 4 } }
}

/** Ten times as many calls make a line 1.5 px wider. */
const widthOf = (calls: number): string => Math.min(7, 1.2 + 1.5 * Math.log10(calls)).toFixed(1)

type Way = Omit<Layout<ArrowOfEdge>['ways'][number], 'through'> & Readonly<{ through: readonly Point[] }>

function edgePart({ arrow, through, leadsBack }: Way, links: GraphLinks): Html {
  const { edge } = arrow
  const { path, head, label } = leadsBack ? backward(through) : onward(through, arrow)
  const inner = html`<title>${edgeWords(edge)}</title>
    <path class="reach" d="${path}" />
    <path class="line" d="${path}" stroke-width="${widthOf(edge.calls)}" />
    <path class="head" d="${head}" />
    <text x="${label.x.toFixed(1)}" y="${(label.y - 5).toFixed(1)}">${edgeLabel(edge)}</text>`
  const { failed } = edge
  const address = failed === undefined ? links.edge(edge) : traceAddress(failed.traceId, failed.spanId)
  return html`<g class="edge${failed === undefined ? '' : ' failed'}">${linked(address, inner)}</g>`
}

/** An arrow for traces that begin at this box. */
function beginPart(corner: Point): Html {
  const [{ x }, y] = [corner, middleOf(corner)]
  return html`<path class="begin" d="M${x - 24} ${y}H${x - headLength}" />
    <path class="begin head" d="M${x - headLength} ${y - 5}L${x} ${y}l${-headLength} 5z" />`
}

/** A name in as many lines as a box has room for. Names of related services often begin alike, so the end of a long name is kept. */
function nameLines(name: string): readonly string[] {
  if (name.length <= nameCharactersMax) return [name]
  const wordEnd = /[-_./ ][^-_./ ]*$/.exec(name.slice(0, nameCharactersMax))?.index ?? 0
  const first = name.slice(0, wordEnd > nameCharactersMax / 2 ? wordEnd + 1 : nameCharactersMax)
  const rest = name.slice(first.length)
  const last = rest.length > nameCharactersMax ? `…${rest.slice(1 - nameCharactersMax)}` : rest
  return [first.toWellFormed(), last.toWellFormed()]
}

function nodePart(node: MapNode, corner: Point, { links, colourOf }: Looks): Html {
  const { kind, name, errors, begins } = node
  const { x, y } = corner
  const lines = nameLines(plainName(node))
  const firstLine = (boxHeight - lines.length * lineHeight) / 2 + 5
  const stripe =
    kind === 'service' ? html`<rect class="${colourOf(name)}" x="0" y="0" width="7" height="${boxHeight}" />` : html``
  const inner = html`<title>${nodeWords(node)}</title>
    <svg x="${x}" y="${y}" width="${boxWidth}" height="${boxHeight}">
      <rect class="box" x="1" y="1" width="${boxWidth - 2}" height="${boxHeight - 2}" />
      ${stripe}
      ${lines.map((line, at) => html`<text class="name" x="14" y="${firstLine + at * lineHeight}">${line}</text>`)}
      <text x="14" y="${firstLine + lines.length * lineHeight}">${factsOf(node)}</text>
    </svg>`
  return html`<g class="node ${kind === 'service' ? '' : 'unseen'}${errors > 0 || kind === 'missing' ? ' failed' : ''}">
    ${begins > 0 ? beginPart(corner) : html``}${linked(links.node(node), inner)}
  </g>`
}

type ArrowOfEdge = Readonly<{ from: string; to: string; edge: MapEdge; near: Point }>

/** The map as a picture. Each name is a text of its own, clipped, so that senders' names cannot reach another. */
export function graphDrawing({ nodes, edges }: ServiceGraph, looks: Looks): Html {
  const arrows = edges.map((edge): ArrowOfEdge => {
    const [others, toIt] = [edges.filter(({ from }) => from === edge.from), edges.filter(({ to }) => to === edge.to)]
    return { from: edge.from.key, to: edge.to.key, edge, near: others.length > toIt.length ? nearEnd : nearStart }
  })
  const { places, ways, columns, rows } = layOut(
    nodes.map(({ key }) => key),
    arrows,
  )
  const gapX = Math.max(gapMin, ...edges.map(labelWidth))
  const cornerOf = ({ column, row }: Place): Point => ({
    x: left + column * (boxWidth + gapX),
    y: top + row * (boxHeight + gapY),
  })
  const width = left + columns * (boxWidth + gapX) - gapX + 4
  const hanging = ways.some(({ leadsBack }) => leadsBack) ? below : 0
  const height = top + rows * (boxHeight + gapY) - gapY + 4 + hanging
  const boxes = nodes.map((node) => nodePart(node, cornerOf(places.get(node.key) ?? { column: 0, row: 0 }), looks))
  return html`<a class="skip" href="#calls">Skip the drawing</a>
    <div class="map${width > shrinksUpTo ? '' : ' whole'}">
      <svg
        width="${width}"
        height="${height}"
        viewBox="0 0 ${width} ${height}"
        role="group"
        aria-label="Services, and the calls between them, each a link"
      >
        ${ways.map((way) => edgePart({ ...way, through: way.through.map(cornerOf) }, looks.links))}${boxes}
      </svg>
    </div>`
}
