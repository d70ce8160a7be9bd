import { connect } from 'node:http2';

/** How long a server may say nothing at all, in milliseconds. */
const SILENCE_MS = 10_000;

/**
 * Whether anything at all comes back from a server's address, be it a refusal; false when nothing has within `waitMs`.
 * A worker's own connection waits half a minute for a server that keeps silent, and cannot be told to stop.
 */
export function says(address: string, isTls: boolean, waitMs = SILENCE_MS): Promise<boolean> {
  const url = `${isTls ? 'https' : 'http'}://${withPort(address)}`;
  // What is no address is the true connection's to tell.
  if (!URL.canParse(url)) return Promise.resolve(true);
  return new Promise((resolve) => {
    // So is whom to trust: nothing of ours is sent on this one.
    const session = connect(url, { rejectUnauthorized: false });
    const tell = (answered: boolean) => (): void => {
      clearTimeout(timer);
      session.destroy();
      resolve(answered);
    };
    const timer = setTimeout(tell(false), waitMs);
    session.once('remoteSettings', tell(true));
    session.once('close', tell(true));
    session.on('error', tell(true));
  });
}

/** Temporal's own port stands for none. */
function withPort(address: string): string {
  return /:\d+$/.test(address) ? address : `${address}:7233`;
}
