/** The status codes of gRPC that our code distinguishes. */
export const STATUS = {
  cancelled: 1,
  unknown: 2,
  invalidArgument: 3,
  deadlineExceeded: 4,
  notFound: 5,
  alreadyExists: 6,
  permissionDenied: 7,
  resourceExhausted: 8,
  failedPrecondition: 9,
  aborted: 10,
  unimplemented: 12,
  internal: 13,
  unavailable: 14,
  unauthenticated: 16,
} as const;

/** Whether a server answered with this status because it refuses the key. */
export function isKeyRefused(status: unknown): boolean {
  return status === STATUS.permissionDenied || status === STATUS.unauthenticated;
}

/** What to do about a Temporal server that does not answer, by cause. */
export const SERVER_HINTS = {
  nobody: 'start one with `countersign dev`, or set TEMPORAL_ADDRESS',
  unanswered: 'is the server up? countersign doctor says what is reachable',
  silent: 'nothing comes back: check TEMPORAL_ADDRESS, the way there, and whether the server is well',
  unknownHost: 'there is no such host: check TEMPORAL_ADDRESS',
  untrusted:
    "its certificate is signed by nobody whom this machine trusts: set TEMPORAL_TLS_SERVER_CA_CERT_PATH to the authority's certificate",
  otherName: 'its certificate is for another name: set TEMPORAL_TLS_SERVER_NAME to that name',
  wantsTls: 'it speaks TLS only: set TEMPORAL_TLS=true',
  wantsCertificate:
    'it asks for a certificate of yours: set TEMPORAL_TLS_CLIENT_CERT_PATH and TEMPORAL_TLS_CLIENT_KEY_PATH',
  withoutTls:
    'it speaks no TLS: unset TEMPORAL_TLS and TEMPORAL_API_KEY, or check whether the port is the right one',
  busy: 'try again in a moment; whoever runs the server can raise its limits (docs/operating.md)',
  keyRefused:
    'it does not let you: check TEMPORAL_API_KEY (has it expired, is it for this namespace?) and the TLS settings',
} as const;

/** The message for a server that answers and refuses the key. */
export function refusedAt(address: string, said: string): string {
  return `the Temporal server at ${address} lets nobody in with this key: ${said}`;
}
