/** The command `countersign`: loading this file runs it. */
import { runProgram } from './run-program';

/** A reader that has seen enough, such as `head`, is no error. */
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(0);
  throw error;
});

void runProgram(process.argv.slice(2), { out: process.stdout, err: process.stderr, env: process.env }).then(
  (code) => {
    process.exitCode ??= code;
  },
);
