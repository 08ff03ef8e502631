// For scripts that copy a text for somebody.
/** Where a page is not served securely, browsers keep the clipboard from scripts, but not from a selection. */
function copySelected(code) {
  getSelection().selectAllChildren(code)
  return document.execCommand('copy')
}

/** Copies the text of an element; whether that could be done. */
export async function copy(code) {
  try {
    await navigator.clipboard.writeText(code.textContent)
    return true
  } catch {
    return copySelected(code)
  }
}
