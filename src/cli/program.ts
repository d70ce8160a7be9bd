import { join, relative } from 'node:path';
import type { Command } from 'commander';
import { COMMANDS } from './commands';
import { asTyped, type Context, createContext, type GlobalOptions } from './context';
import { manifest, programName, ROOT } from './own-modules';
import { createScreen, createStyle, type Sink, wantsColor } from './print/screen';
import type { Keyboard } from './review/terminal';
import { addSharedOptions } from './flags';
import { EXIT, type ExitCode, exitCodeOf } from './exit-codes';
import { errorLines, explainMissing } from './report-error';
import { TypedCommand } from './typed-command';
import { safeLine } from '../contract/text/escape';

/** The streams and environment of the process. */
interface Streams {
  out: Sink;
  err: Sink;
  /** Absent: there is no input. */
  keyboard?: Keyboard;
  env: NodeJS.ProcessEnv;
}

const ABOUT = `Durable agents on Temporal whose dangerous tool calls need a person's countersignature.`;

/** The program `countersign`. It throws every error and never ends the process. */
export function createProgram(
  { out, err, env, keyboard }: Streams,
  exitWith: Context['exitWith'] = () => undefined,
  commands = COMMANDS,
): Command {
  const program = new TypedCommand('countersign');
  const screen = createScreen(out, err, env);
  const helpWidth = Number.isFinite(screen.width) ? screen.width : 100;
  addSharedOptions(program)
    .description(ABOUT)
    .version(manifest().version)
    .option(
      '--address <host:port>',
      'the Temporal server (default: TEMPORAL_ADDRESS, temporal.toml, localhost:7233)',
    )
    .option('--namespace <name>', 'the namespace (default: TEMPORAL_NAMESPACE, temporal.toml, default)')
    .option('--profile <name>', 'the profile of temporal.toml')
    .option(
      '--encryption-key-file <path>',
      'the keys of the workers (default: COUNTERSIGN_ENCRYPTION_KEY_FILE, _KEYS)',
    )
    .option('--timeout <time>', 'how long to wait for the server (default: 5s)')
    .addHelpText(
      'after',
      `
Any unique prefix of an id works. An error ends with its [code], which has a page in ${relative(process.cwd(), join(ROOT, 'docs', 'errors'))}.
Exit codes: 0 done, 1 failed, 2 usage, 3 decision refused, 4 not found, 5 no server, 6 still waiting.`,
    )
    .exitOverride()
    .configureHelp({ helpWidth, minWidthToWrap: 10 })
    // Errors are printed in one place, in one form.
    .configureOutput({
      writeOut: (text) => void out.write(text),
      writeErr: () => undefined,
      outputError: () => undefined,
    });
  const options = () => program.opts<GlobalOptions>();
  const typed = typedHere(program, env);
  const context = createContext({ screen, env, keyboard, options, typed, exitWith });
  for (const [group, added] of Object.entries(commands)) {
    // The command that explains the others joins the first group.
    program.commandsGroup(`${group}:`).helpCommand(true);
    for (const add of added) add(program, context);
  }
  return program;
}

function typedHere({ commands }: Command, env: NodeJS.ProcessEnv): Context['typed'] {
  return (sentence) => {
    const names = commands.map((command) => command.name());
    return asTyped(sentence, programName(env), names);
  };
}

/** Runs a command line and resolves with the exit code. Errors are printed to stderr. */
export async function runProgram(args: readonly string[], streams: Streams): Promise<number> {
  let code: ExitCode = EXIT.done;
  const program = createProgram(streams, (given) => (code = given));
  try {
    if (args.length === 0) {
      program.outputHelp();
      return EXIT.usage;
    }
    await program.parseAsync(args, { from: 'user' });
    return code;
  } catch (thrown) {
    const error = explainMissing(thrown);
    const { err, env } = streams;
    const style = createStyle(wantsColor(err, env));
    const typed = typedHere(program, env);
    const lines = errorLines(error, { style, typed, debug: (env['COUNTERSIGN_DEBUG'] ?? '') !== '' });
    for (const line of lines) err.write(`${safeLine(line, style.color)}\n`);
    return exitCodeOf(error);
  }
}

/**
 * The longest time that the process may stay open after a failure. The failed command may have left something open, and
 * a supervisor could not start another process.
 */
const LEFT_OPEN_MS = 1_000;

/** The command `countersign`, with the streams of this process. It ends the process if something is left open. */
export async function main(): Promise<void> {
  // A reader that stops early, such as `head`, is not an error.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(0);
    unlessClosed(error);
  });
  process.stderr.on('error', unlessClosed);
  process.exitCode = await runProgram(process.argv.slice(2), {
    out: process.stdout,
    err: process.stderr,
    keyboard: { input: process.stdin, output: process.stdout },
    env: process.env,
  });
  if (process.exitCode !== EXIT.done) setTimeout(() => process.exit(), LEFT_OPEN_MS).unref();
}

/**
 * Ignores errors of a closed terminal, where nobody reads the output. SIGHUP also arrives, and ends the command in good
 * order.
 */
function unlessClosed(error: NodeJS.ErrnoException) {
  if (error.code !== 'EIO') throw error;
}
