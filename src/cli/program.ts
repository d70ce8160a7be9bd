import { Command } from 'commander';
import { addApprove } from './commands/approve';
import { addAudit } from './commands/audit';
import { addCancel } from './commands/cancel';
import { addDeny } from './commands/deny';
import { addDev } from './commands/dev';
import { addDoctor } from './commands/doctor';
import { addFork } from './commands/fork';
import { addExport } from './commands/export';
import { addInbox } from './commands/inbox';
import { addInit } from './commands/init';
import { addKeys } from './commands/keys';
import { addList } from './commands/list';
import { addReset } from './commands/reset';
import { addReplay } from './commands/replay';
import { addResolve } from './commands/resolve';
import { addReview } from './commands/review';
import { addRun } from './commands/run';
import { addShow } from './commands/show';
import { addWatch } from './commands/watch';
import { addTimeline } from './commands/timeline';
import { addStats } from './commands/stats';
import { addWeb } from './commands/web';
import { addWorker } from './commands/worker';
import { createContext, type GlobalOptions } from './context';
import { manifest } from './own-modules';
import { createScreen, type Sink } from './print/screen';
import type { Keyboard } from './terminal/terminal';

/** What the program is given of its process. */
export interface Streams {
  out: Sink;
  err: Sink;
  /** Absent where nobody types. */
  keyboard?: Keyboard;
  env: NodeJS.ProcessEnv;
}

const ABOUT = `Durable agents on Temporal whose dangerous tool calls need a person's countersignature.`;

const EXIT_CODES = `
Any unique prefix of an id works.
Exit codes: 0 done, 1 failed, 2 usage, 3 decision refused, 4 not found, 5 no server, 6 still waiting for a person.`;

const COMMANDS = [
  addInit,
  addDev,
  addWorker,
  addWeb,
  addRun,
  addInbox,
  addWatch,
  addShow,
  addTimeline,
  addReplay,
  addApprove,
  addDeny,
  addReview,
  addResolve,
  addList,
  addCancel,
  addFork,
  addReset,
  addStats,
  addExport,
  addAudit,
  addKeys,
  addDoctor,
] as const;

/** The program `countersign`. It throws what goes wrong: nothing in it ends the process. */
export function createProgram({ out, err, env, keyboard }: Streams): Command {
  const program = new Command('countersign');
  const screen = createScreen(out, err, env);
  const helpWidth = Number.isFinite(screen.width) ? screen.width : 100;
  program
    .description(ABOUT)
    .version(manifest().version)
    .option(
      '--address <host:port>',
      'the Temporal server (default: TEMPORAL_ADDRESS, temporal.toml, localhost:7233)',
    )
    .option('--namespace <name>', 'its namespace (default: TEMPORAL_NAMESPACE, temporal.toml, default)')
    .option('--profile <name>', 'profile of temporal.toml')
    .option(
      '--encryption-key-file <path>',
      'keys of the workers (default: COUNTERSIGN_ENCRYPTION_KEY_FILE, _KEYS)',
    )
    .option('--timeout <time>', 'how long to wait for the server (default: 5s)')
    .addHelpText('after', EXIT_CODES)
    .exitOverride()
    .configureHelp({ helpWidth, minWidthToWrap: 10 })
    // What goes wrong is told in one place, in one form.
    .configureOutput({
      writeOut: (text) => void out.write(text),
      writeErr: () => undefined,
      outputError: () => undefined,
    });
  const options = (): GlobalOptions => program.opts<GlobalOptions>();
  const context = createContext({ screen, env, keyboard, options });
  for (const add of COMMANDS) add(program, context);
  return program;
}
