// What people choose for their own browser. One that keeps nothing for us has chosen nothing.
export function recall(name) {
  try {
    return localStorage.getItem(`throughline.${name}`)
  } catch {
    return null
  }
}

export function remember(name, choice) {
  try {
    localStorage.setItem(`throughline.${name}`, choice)
  } catch {
    // It is in force on this page all the same.
  }
}
