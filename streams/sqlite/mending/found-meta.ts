import { parseFormers } from './formers.ts'
import { varint } from './sqlite-format.ts'
import type { PageImage } from './page-images.ts'

/** What was found of the log's `meta`. `cut`: the last sequence that was cut off. `formers`: see formers.ts. */
export type FoundMeta = Readonly<{ epoch: string | undefined; cut: number | undefined; formers: readonly string[] }>

const indexLeaf = 0x0a
const indexInterior = 0x02

const textBytes = (type: number): number | undefined =>
  type >= 13 && type % 2 === 1 ? Math.floor((type - 13) / 2) : undefined

/** A short record of two texts; undefined for any other record. */
function twoTexts(image: Buffer, at: number): readonly [string, string] | undefined {
  const size = varint(image, at)
  const head = size && varint(image, size[1])
  const first = head && varint(image, head[1])
  const second = first && varint(image, first[1])
  if (size === undefined || head === undefined || first === undefined || second === undefined) return undefined
  const [name, value] = [textBytes(first[0]), textBytes(second[0])]
  if (name === undefined || value === undefined || size[0] > 512 || head[0] + name + value !== size[0]) return undefined
  const from = size[1] + head[0]
  return [image.toString('utf8', from, from + name), image.toString('utf8', from + name, from + name + value)]
}

/** Pass it every page image. The highest cut mark wins, because the mark only ever moves up. */
export function createFoundMeta(): Readonly<{ look(image: PageImage): void; found(): FoundMeta }> {
  let epoch: string | undefined
  let cut: number | undefined
  let formers: readonly string[] = []
  const take = ([name, value]: readonly [string, string]): void => {
    if (name === 'epoch') epoch = value
    if (name === 'formers') formers = parseFormers(value)
    if (name === 'cut' && /^\d{1,15}$/.test(value)) cut = Math.max(cut ?? 0, Number(value))
  }
  return {
    look: ({ page, image }) => {
      const isInterior = image[0] === indexInterior
      if (page === 1 || (image[0] !== indexLeaf && !isInterior)) return
      const pointers = isInterior ? 12 : 8
      const cells = Math.min(image.readUInt16BE(3), Math.floor((image.length - pointers) / 2))
      for (let cell = 0; cell < cells; cell++) {
        const at = image.readUInt16BE(pointers + 2 * cell)
        const texts = twoTexts(image, isInterior ? at + 4 : at)
        if (texts !== undefined) take(texts)
      }
    },
    // The cut mark is on the same page as the epoch. If the epoch was found and the mark was not, nothing was cut.
    found: () => ({ epoch, cut: epoch === undefined ? cut : (cut ?? 0), formers }),
  }
}
