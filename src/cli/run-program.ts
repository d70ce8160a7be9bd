import { EXIT, exitCodeOf } from './exit-codes';
import { explainMissing } from './missing-package';
import { createProgram, type Streams } from './program';
import { createStyle, wantsColor } from './print/style';
import { errorLines } from './report-error';

/** Runs a command line and resolves with the exit code; whatever goes wrong is told on stderr. */
export async function runProgram(args: readonly string[], streams: Streams): Promise<number> {
  const program = createProgram(streams);
  try {
    if (args.length === 0) {
      program.outputHelp();
      return EXIT.usage;
    }
    await program.parseAsync(args, { from: 'user' });
    return EXIT.done;
  } catch (thrown) {
    const error = explainMissing(thrown);
    const { err, env } = streams;
    const style = createStyle(wantsColor(err, env));
    const lines = errorLines(error, { style, debug: (env['COUNTERSIGN_DEBUG'] ?? '') !== '' });
    for (const line of lines) err.write(`${line}\n`);
    return exitCodeOf(error);
  }
}
