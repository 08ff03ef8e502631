/** Text that is already HTML. Only `html` makes it, so nothing else is ever sent unescaped. */
export type Html = Readonly<{ markup: string }>

type Value = string | number | Html | readonly Html[] | undefined

const escapes: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}
const escape = (text: string): string => text.replace(/[&<>"']/g, (character) => escapes[character] ?? '')

function markupOf(value: Value): string {
  if (value === undefined) return ''
  if (typeof value === 'string') return escape(value)
  if (typeof value === 'number') return String(value)
  if ('markup' in value) return value.markup
  return value.map(({ markup }) => markup).join('')
}

/** The texts of a template without the source's indentation, which would be a third of a page. Each template is processed once. */
const tidied = new WeakMap<TemplateStringsArray, readonly string[]>()
function tidyOf(parts: TemplateStringsArray): readonly string[] {
  const known = tidied.get(parts)
  if (known !== undefined) return known
  const tidy = parts.map((part) => part.replace(/\n\s+/g, '\n'))
  tidied.set(parts, tidy)
  return tidy
}

/**
 * HTML with every value escaped, in text and in quoted attributes; values of type Html are inserted as they are. Attribute values must be quoted in
 * the template.
 */
export function html(parts: TemplateStringsArray, ...values: readonly Value[]): Html {
  return {
    markup: tidyOf(parts)
      .map((part, place) => part + markupOf(values[place]))
      .join(''),
  }
}
