import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { runProgram } from './run-program.ts'

/** A step of a guide as its page shows it. */
export type ShownStep = Readonly<{ kind: string; file: string; code: string }>

const unescaped: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" }
const textOf = (markup: string): string =>
  markup.replaceAll(/&(amp|lt|gt|quot|#39);/g, (_whole, name: string) => unescaped[name] ?? '')

/** The steps of a guide in a page's markup, in order. */
export function stepsIn(page: string, guide: string): readonly ShownStep[] {
  const [, list = ''] = new RegExp(`<ol class="steps" data-guide="${guide}">([\\s\\S]*?)</ol>`).exec(page) ?? []
  return [...list.matchAll(/<pre data-step="(\w+)"(?: data-file="([^"]*)")?>([\s\S]*?)<\/pre>/g)].map(
    ([, kind = '', file = '', code = '']) => ({ kind, file, code: textOf(code) }),
  )
}

/**
 * Does what the steps say, in a folder of its own: saves their files and gives their lines to one shell. Packages are there
 * already: those of this checkout for Node, and of `python` for Python.
 */
export async function follow(steps: readonly ShownStep[], python?: string): Promise<readonly string[]> {
  const folder = await mkdtemp(join(tmpdir(), 'throughline-guide-'))
  try {
    await symlink(resolve('node_modules'), join(folder, 'node_modules'))
    for (const { kind, file, code } of steps) if (kind === 'file') await writeFile(join(folder, file), code)
    const lines = steps.filter(({ kind }) => kind === 'shell').map(({ code }) => code)
    const programs = [join(process.execPath, '..'), ...(python === undefined ? [] : [join(python, '..')])]
    const path = [...programs, process.env['PATH'] ?? ''].join(':')
    return await runProgram('sh', ['-e', '-c', `cd '${folder}'\n${lines.join('\n')}`], { environment: { PATH: path } })
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
