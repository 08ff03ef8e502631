import { readdir } from 'node:fs/promises'
import { monitorEventLoopDelay, performance } from 'node:perf_hooks'
import type { Metrics } from './metrics.ts'

/** Linux: each entry is a file that this process has open. */
const openFilesFolder = '/proc/self/fd'

/**
 * What this process, with all of its threads, takes of the machine, under the names that clients of Prometheus use
 * (https://prometheus.io/docs/instrumenting/writing_clientlibs/#process-metrics), and how late its main thread is, as prom-client names it.
 */
export function observeProcess(metrics: Metrics, openFilesMax: () => number | undefined): void {
  const cpuSeconds = (): number => {
    const { user, system } = process.cpuUsage()
    return (user + system) / 1e6
  }
  metrics.total('process_cpu_seconds_total', 'CPU time of user and system, in seconds.', cpuSeconds)
  metrics.gauge(
    'process_start_time_seconds',
    'When the process started, in Unix time.',
    () => performance.timeOrigin / 1_000,
  )
  metrics.gauge('process_resident_memory_bytes', 'Memory that the process has resident.', () =>
    process.memoryUsage.rss(),
  )
  metrics.gauge(
    'process_open_fds',
    'Files and connections that are open.',
    async () => (await readdir(openFilesFolder)).length,
  )
  metrics.gauge('process_max_fds', 'How many files and connections may be open.', () => openFilesMax() ?? [])
  observeEventLoop(metrics)
}

/** Starts measuring at the first scrape, because measuring takes a timer: whoever never asks has none. */
function observeEventLoop(metrics: Metrics): void {
  const lag = monitorEventLoopDelay({ resolution: 10 })
  metrics.gauge(
    'nodejs_eventloop_lag_p99_seconds',
    'How late the main thread was, 99 of 100 times, since this was last asked.',
    () => {
      if (lag.enable()) return []
      const seconds = lag.percentile(99) / 1e9
      lag.reset()
      return seconds
    },
  )
}
