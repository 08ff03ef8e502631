import { statfs } from 'node:fs/promises'
import type { Metrics } from './metrics.ts'

/** The room on the volume of a data folder. Retention goes by age, so a volume that is too small fills up. */
export function observeDisk(metrics: Metrics, folder: string): void {
  const one = (blocks: 'bavail' | 'blocks') => async () => {
    const volume = await statfs(folder)
    return volume[blocks] * volume.bsize
  }
  metrics.gauge('throughline_disk_free_bytes', 'Room left on the volume of the data folder.', one('bavail'))
  metrics.gauge('throughline_disk_size_bytes', 'The size of the volume of the data folder.', one('blocks'))
}
