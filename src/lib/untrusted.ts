/** How OpenSSL, and Node, name what is wrong with the certificate of a server. What the server says of ours begins with ERR_SSL. */
const ofCertificates = /^(?!ERR_SSL).*(?:CERT|ISSUER|LEAF_SIGNATURE|INVALID_CA|INVALID_PURPOSE|HOSTNAME_MISMATCH)/u

/** Whether this process does not take the certificate of the server that it connects to. */
export const isUntrusted = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && ofCertificates.test(String(error.code))

/** A process reads that file when it starts, and one that takes over after SIGHUP does. */
export const untrustedHint =
  'its certificate is not taken here: replace it there; or, if its authority is a new one, add that to the file of NODE_EXTRA_CA_CERTS and send SIGHUP'
