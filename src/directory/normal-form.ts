/** E-mail addresses are compared in this form: trimmed and in lower case (mail systems ignore case). */
export const normalEmail = (email: string): string => email.trim().normalize('NFC').toLowerCase()
export const normalName = (name: string): string => name.trim().normalize('NFC')
/** The form in which workspace names are compared: ignoring case. */
export const nameKey = (name: string): string => normalName(name).toLowerCase()
