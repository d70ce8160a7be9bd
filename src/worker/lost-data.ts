import { errorMessage } from '../contract/errors';

/** How a running worker finds out that the server has lost its data, and what it does then. */
interface Remembering {
  /** The attributes that the server lacks now. */
  look(): Promise<string[]>;
  setUp(): Promise<unknown>;
  warn(line: string): void;
}

/** The time between two looks, in milliseconds. A start of a turn waits longer for the attributes. */
const LOOK_MS = 20_000;

/**
 * Sets the namespace up again if its server has lost its data, as a dev server without a file does when it is started
 * again. Returns a function that ends this.
 */
export function whenForgotten({ look, setUp, warn }: Remembering): () => void {
  const again = async () => {
    // A server that gives no answer says nothing about its data.
    const missing = await look().catch(() => []);
    if (missing.length === 0) return;
    warn('the server has lost its data, with all turns and their histories; it is set up for new turns');
    await setUp().catch((error: unknown) => warn(`it could not be set up: ${errorMessage(error)}`));
  };
  const timer = setInterval(() => void again(), LOOK_MS).unref();
  return () => clearInterval(timer);
}
