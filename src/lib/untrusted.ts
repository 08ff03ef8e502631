/** The codes by which OpenSSL and Node name what is wrong with a server's certificate. Codes with ERR_SSL are what the server says of ours. */
const ofCertificates = /^(?!ERR_SSL).*(?:CERT|ISSUER|LEAF_SIGNATURE|INVALID_CA|INVALID_PURPOSE|HOSTNAME_MISMATCH)/u

/** Whether this process does not trust the certificate of the server that it connects to. */
export const isUntrusted = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && ofCertificates.test(String(error.code))

/** A process reads the file of NODE_EXTRA_CA_CERTS only when it starts; SIGHUP starts a new one. */
export const untrustedHint =
  'its certificate is not taken here: replace it there; or, if its authority is a new one, add that to the file of NODE_EXTRA_CA_CERTS and send SIGHUP'
