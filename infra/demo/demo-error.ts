/** What went wrong, in words that whoever started the demo can act on. */
export class DemoError extends Error {}
