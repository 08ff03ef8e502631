/** Texts that are no text of a page where they are not escaped. */
export const attacks = [
  '<script>alert(1)</script>',
  '"><img src=x onerror=alert(1)>',
  "'><svg/onload=alert(1)>",
  '</title><script>alert(1)</script>',
  '&lt;script&gt;',
  'javascript:alert(1)',
  '<!--<script>',
  ']]><script>',
  '{{constructor.constructor("alert(1)")()}}',
  '\u2028<b>',
]
