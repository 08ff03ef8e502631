import type { ClusterConfig } from '#src/config.ts'
import { askApi } from '#streams/jetstream/api.ts'
import { connectNats } from '#streams/jetstream/connect.ts'

/** Who folds a partition ('' : nobody), and when they last said so (ms, by NATS's clock). */
export type Lease = Readonly<{ holder: string; at: number }>

type Leases = Readonly<{ read(): Promise<readonly Lease[]>; close(): Promise<void> }>

const free: Lease = { holder: '', at: 0 }

/** The leases of a cluster's partitions as they stand on their board, in the partitions' order. */
export async function openLeases({ natsUrl, indexPrefix, partitions }: ClusterConfig): Promise<Leases> {
  const nats = await connectNats({ url: natsUrl })
  const readOne = async (partition: number): Promise<Lease> => {
    const subject = `${indexPrefix}-leases.partition.${partition}`
    const asked = await askApi(nats, `STREAM.MSG.GET.${indexPrefix}-LEASES`, { last_by_subj: subject })
    if ('error' in asked) return free
    const { data = '', time } = asked.answer['message'] as Readonly<{ data?: string; time: string }>
    return { holder: Buffer.from(data, 'base64').toString(), at: Date.parse(time) }
  }
  return {
    read: () => Promise.all(Array.from({ length: partitions }, (_, partition) => readOne(partition))),
    close: () => nats.close(),
  }
}
