import type { Command } from 'commander';
import type { Countersign, ResetPlan } from '../../client';
import { defined } from '../../history/defined';
import { osUser, type Context } from '../context';
import { resetLines } from '../print/reset';
import { confirm } from '../terminal/ask';
import { withTerminal } from '../terminal/terminal';

interface ResetOptions {
  before: string;
  reason?: string;
  as?: string;
  yes?: boolean;
  json?: boolean;
}

/** `reset <turn> --before <call>`. */
export function addReset(program: Command, context: Context): void {
  program
    .command('reset <turn>')
    .description('take a turn back to before a call, for real; decisions after that are spent')
    .requiredOption('--before <call>', 'the call, such as 2.1; it is asked about or started anew')
    .option('--reason <text>', 'why; kept on record')
    .option('--as <name>', 'who does it (default: your name on this machine)')
    .option('-y, --yes', 'do it without asking')
    .option('--json', 'print JSON')
    .action((turn: string, options: ResetOptions) => reset(turn, options, context));
}

async function reset(prefix: string, options: ResetOptions, context: Context): Promise<void> {
  await context.withDesk(async (desk) => {
    const turn = await desk.find(prefix);
    const plan = await desk.planReset(turn, options.before);
    if (options.json !== true) context.screen.lines(resetLines(plan, context.screen));
    if (options.yes !== true && !(await agreed(plan, context)))
      return context.screen.line('Nothing was changed.');
    await resetAsPlanned(desk, plan, { options, context });
  });
}

/** @throws CountersignError `usage` where nobody can be asked. */
function agreed({ turn }: ResetPlan, { keyboard }: Context): Promise<boolean> {
  const hint = 'Look at what it would do, then add --yes.';
  return withTerminal(keyboard, hint, (terminal) => confirm(terminal, `Reset ${turn}?`));
}

async function resetAsPlanned(
  desk: Countersign,
  plan: ResetPlan,
  { options, context }: { options: ResetOptions; context: Context },
): Promise<void> {
  const { reason, as, json } = options;
  const { screen, command } = context;
  const { turn, runId } = await desk.reset(plan, { ...defined({ reason }), approver: as ?? osUser() });
  if (json === true) return screen.json({ turn, runId, plan });
  screen.lines([`${turn} was reset`, `Follow it: ${command(`show ${turn} --follow`)}`]);
}
