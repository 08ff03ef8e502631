import { parseKnownRegex } from './parse-regex.ts'
import type { RegexNode } from './regex-node.ts'

/** One step of the automaton: a character to eat, or places to go to without eating. The last is the match. */
type Step = { readonly test?: (character: string) => boolean; readonly next: readonly number[] }
type State = Readonly<{ steps: readonly number[]; matches: boolean; next: Map<string, State> }>

const statesMax = 1_000
const edgesMax = 20_000
/** Steps of all states together: each takes some ten bytes, and stores keep the automata of a hundred expressions. */
const stepsMax = 50_000

/**
 * How many steps of automata may still be taken to make states; counted down. To read a text with known states costs next to nothing. But an
 * expression may need more states than are kept, and then makes one for each character, at a thousand times the cost.
 */
export type MatcherWork = { left: number }

/** Once `work` is used up (`left` below 0), nothing matches any more: the caller has to check `left`. */
export type LinearMatcher = (text: string, work?: MatcherWork) => boolean

/**
 * Tells whether a text matches the expression whole, in time linear in the text, whatever the expression: a
 * non-deterministic automaton (Thompson, 1968), made deterministic as far as texts need it, with bounded memory.
 * The source is one that parseRegex accepts.
 */
export const createLinearMatcher = (source: string): LinearMatcher => createNodeMatcher(parseKnownRegex(source))

/** The same for an expression that is parsed. */
export function createNodeMatcher(node: RegexNode): LinearMatcher {
  const steps: Step[] = []
  const first = add(steps, node, addStep(steps, { next: [] }))
  return createAutomaton(steps, first)
}

function addStep(steps: Step[], step: Step): number {
  steps.push(step)
  return steps.length - 1
}

/** Adds the steps of a node that go on to `then`; the place of the first of them. */
function add(steps: Step[], node: RegexNode, then: number): number {
  switch (node.kind) {
    case 'character':
      return addStep(steps, { test: characterTest(node.source, node.literal), next: [then] })
    case 'sequence':
      return node.of.reduceRight((next, item) => add(steps, item, next), then)
    case 'choice':
      return addStep(steps, { next: node.of.map((item) => add(steps, item, then)) })
    case 'repeat':
      break
  }
  return addRepeat(steps, node, then)
}

function addRepeat(steps: Step[], node: RegexNode & { kind: 'repeat' }, then: number): number {
  let place = then
  if (node.max === null) {
    const next = [then]
    place = addStep(steps, { next })
    next.unshift(add(steps, node.of, place))
  } else {
    for (let count = node.min; count < node.max; count++) {
      place = addStep(steps, { next: [add(steps, node.of, place), then] })
    }
  }
  for (let count = 0; count < node.min; count++) place = add(steps, node.of, place)
  return place
}

function characterTest(source: string, literal: string | undefined): (character: string) => boolean {
  if (literal !== undefined) return (character) => character === literal
  const one = new RegExp(`^${source}$`, 'su')
  return (character) => one.test(character)
}

function createAutomaton(steps: readonly Step[], first: number): LinearMatcher {
  let states = new Map<string, State>()
  let edges = 0
  let kept = 0
  let start: State | undefined

  function stateOf(starts: readonly number[], work: MatcherWork): State {
    const reached = new Set<number>()
    const open = [...starts]
    for (let place = open.pop(); place !== undefined; place = open.pop()) {
      if (reached.has(place)) continue
      reached.add(place)
      const step = steps[place]
      if (step !== undefined && step.test === undefined) open.push(...step.next)
    }
    work.left -= reached.size
    const eating = [...reached].filter((place) => steps[place]?.test !== undefined).sort((a, b) => a - b)
    const matches = reached.has(0)
    const key = `${matches}:${eating.join(',')}`
    const known = states.get(key)
    if (known !== undefined) return known
    const state = { steps: eating, matches, next: new Map<string, State>() }
    states.set(key, state)
    kept += eating.length
    return state
  }

  function after(state: State, character: string, work: MatcherWork): State {
    const known = state.next.get(character)
    if (known !== undefined) return known
    if (states.size >= statesMax || edges >= edgesMax || kept >= stepsMax) {
      states = new Map()
      edges = 0
      kept = 0
      start = undefined
    }
    work.left -= state.steps.length
    const next = stateOf(
      state.steps.flatMap((place) => (steps[place]?.test?.(character) === true ? (steps[place]?.next ?? []) : [])),
      work,
    )
    state.next.set(character, next)
    edges++
    return next
  }

  return (text, work = { left: Infinity }) => {
    let state = (start ??= stateOf([first], work))
    for (const character of text) {
      if (state.steps.length === 0 || work.left < 0) return false
      state = after(state, character, work)
    }
    return work.left >= 0 && state.matches
  }
}
