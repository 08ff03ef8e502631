/** What container runtimes put before each line in their files: time and stream (Kubernetes, CRI logging format). */
export const ofRuntime = /^(\S{20,35}) (std(?:out|err)) [FP] /
