/** Where an engine of our own comes from: a container, or a server program of this machine. */
type Provider = 'docker' | 'native'

const providers: readonly string[] = ['docker', 'native'] satisfies readonly Provider[]
const isProvider = (text: string): text is Provider => providers.includes(text)

/** Docker where it answers, else native; `wanted` (the variable `ENGINES`) says otherwise. */
export async function chooseProvider(wanted: string | undefined, hasDocker: () => Promise<boolean>): Promise<Provider> {
  if (wanted === undefined || wanted === '') return (await hasDocker()) ? 'docker' : 'native'
  if (!isProvider(wanted)) throw new Error(`ENGINES is "${wanted}", and may be ${providers.join(' or ')}.`)
  if (wanted === 'docker' && !(await hasDocker())) throw new Error('ENGINES is "docker", but no Docker engine answers.')
  return wanted
}

async function dockerAnswers(): Promise<boolean> {
  const { getContainerRuntimeClient } = await import('testcontainers')
  try {
    await getContainerRuntimeClient()
    return true
  } catch {
    return false
  }
}

let chosen: Promise<Provider> | undefined

/** The provider of this process. */
export const provider = (): Promise<Provider> => (chosen ??= chooseProvider(process.env['ENGINES'], dockerAnswers))
