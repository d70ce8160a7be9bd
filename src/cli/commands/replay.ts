import type { Command } from 'commander';
import type { Context } from '../context';
import { replayProgressLine } from '../print/replay';
import { withProgress } from '../progress';
import { refuseMistakes, taskTimeoutOf, type ReplayOptions } from '../replay/options';
import { tell } from '../replay/tell';
import type { Done, Work } from '../replay/work';

/** `replay [turn|file]`. */
export function addReplay(program: Command, context: Context): void {
  program
    .command('replay [turn|file.json]')
    .description(
      'run recorded turns through this code, and tell what it would do otherwise; a gate before a deploy',
    )
    .option('--last <count>', 'the newest turns, at most so many (200 unless given)')
    .option('--query <query>', 'the turns that a visibility query of Temporal finds')
    .option(
      '--workflows <path>',
      'workflows of your own instead of the turn: what your worker has as workflowsPath',
    )
    .option('--task-timeout <time>', 'how long the code may work on one workflow task (default: 20s)')
    .option('--inspect', 'wait for a debugger, and stop in the workflow code')
    .option(
      '--at <point>',
      'with --inspect: stop at a step (2), a call (2.1) or an event (#57), not at the first workflow task',
    )
    .option('--port <port>', 'with --inspect: where the debugger attaches; 0 is any free port', '9229')
    .option('--json', 'print JSON')
    .action((named: string | undefined, options: ReplayOptions) => replay(named, options, context));
}

async function replay(named: string | undefined, options: ReplayOptions, context: Context): Promise<void> {
  refuseMistakes(named, options);
  const progress = { runs: 0, done: 0, gone: 0 };
  const work: Work = { options, context, progress, taskTimeoutMs: taskTimeoutOf(options) };
  const done = await withProgress(
    context.screen,
    () => replayProgressLine(work.progress),
    () => judge(named, work),
  );
  tell(done, work);
}

/** Loaded only here, so that `--help` does not wait for it. */
async function judge(named: string | undefined, work: Work): Promise<Done> {
  if (named === undefined) return (await import('../replay/batch.js')).judgeBatch(work);
  return (await import('../replay/turn.js')).judgeTurn(named, work);
}
