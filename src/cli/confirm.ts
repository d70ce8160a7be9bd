import { createInterface } from 'node:readline/promises';

/** Where a person is asked. */
export interface Terminal {
  input: NodeJS.ReadableStream;
  output: NodeJS.WritableStream;
}

/** Asks yes or no; anything but a yes is a no, Ctrl-C and Ctrl-D too. */
export async function confirm(
  question: string,
  { input, output }: Terminal = { input: process.stdin, output: process.stderr },
): Promise<boolean> {
  const lines = createInterface({ input, output });
  const closed = new AbortController();
  lines.once('SIGINT', () => closed.abort());
  lines.once('close', () => closed.abort());
  try {
    const said = await lines.question(`${question} [y/N] `, { signal: closed.signal });
    return /^y(es)?$/i.test(said.trim());
  } catch (error) {
    if (closed.signal.aborted) return false;
    throw error;
  } finally {
    lines.close();
  }
}
