import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { AxeResults, RunOptions } from 'axe-core'
import type { Page } from 'playwright-core'

const source = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** Beside what is asked of every page: targets of a size that a finger meets (WCAG 2.2, 2.5.8). */
const options: RunOptions = { resultTypes: ['violations'], rules: { 'target-size': { enabled: true } } }

/** A scheme changes colours only and a width the layout only: two looks have both of each, at half the cost of all four. */
const looks = [
  { colorScheme: 'light', width: 1_280 },
  { colorScheme: 'dark', width: 375 },
] as const

/** What axe calls serious or critical on the page that is there, as it stands. */
export async function violationsOn(tab: Page): Promise<readonly string[]> {
  // What stands on it is there before its style sheet may be: links without it are small.
  await tab.waitForLoadState()
  // By evaluation: the page's content policy lets in no script that is not its own.
  await tab.evaluate(source)
  const found: string[] = []
  for (const { colorScheme, width } of looks) {
    await tab.emulateMedia({ colorScheme })
    await tab.setViewportSize({ width, height: 900 })
    const { violations } = await tab.evaluate(
      (asked) => (globalThis as unknown as { axe: { run(options: RunOptions): Promise<AxeResults> } }).axe.run(asked),
      options,
    )
    const bad = violations.filter(({ impact }) => impact === 'serious' || impact === 'critical')
    found.push(
      ...bad.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}, ${colorScheme}, ${width} px: ${html}`)),
    )
  }
  return found
}
