import { toNfc } from '#src/lib/to-nfc.ts'

/** E-mail addresses are compared in this form: trimmed and in lower case (mail systems ignore case). */
export const normalEmail = (email: string): string => toNfc(email.trim()).toLowerCase()
export const normalName = (name: string): string => toNfc(name.trim())
/** The form in which workspace names are compared: ignoring case. */
export const nameKey = (name: string): string => normalName(name).toLowerCase()
