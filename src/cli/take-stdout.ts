import { Writable } from 'node:stream';

/** Standard output for one writer. */
interface TakenStdout {
  stream: Writable;
  /** Gives it back. */
  release(): void;
}

/** Takes standard output for one writer. What anybody else prints goes to stderr from now on. */
export function takeStdout(): TakenStdout {
  const own = process.stdout.write;
  const write = own.bind(process.stdout);
  process.stdout.write = process.stderr.write.bind(process.stderr);
  const stream = new Writable({
    decodeStrings: false,
    write: (chunk: string | Uint8Array, _encoding, done) => void write(chunk, done),
  });
  return { stream, release: () => void (process.stdout.write = own) };
}
