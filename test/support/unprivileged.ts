/** Runs something as a user for whom the modes of files hold: root may read and write whatever they say. */
export function unprivileged<T>(run: () => T): T {
  if (process.geteuid?.() !== 0) return run()
  const nobody = 65_534
  process.seteuid?.(nobody)
  try {
    return run()
  } finally {
    process.seteuid?.(0)
  }
}
