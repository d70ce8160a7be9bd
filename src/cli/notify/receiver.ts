import type { Notice } from './notices';

/** Who is told. */
export interface Receiver {
  /** For what is printed; holds no secret. */
  name: string;
  /** Resolves when the receiver took it. Rejects with an Error that says what is wrong. */
  deliver(notice: Notice, signal: AbortSignal): Promise<void>;
}
