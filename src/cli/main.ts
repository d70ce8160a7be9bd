/** The command `countersign`: loading this file runs it. */
import type { Streams } from './program';
import { runProgram } from './run-program';

/** A reader that has seen enough, such as `head`, is no error. */
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(0);
  throw error;
});

const streams: Streams = {
  out: process.stdout,
  err: process.stderr,
  keyboard: { input: process.stdin, output: process.stdout },
  env: process.env,
};

void runProgram(process.argv.slice(2), streams).then((code) => {
  process.exitCode ??= code;
});
