import type { Command } from 'commander';
import type { ResetPlan } from '../../client';
import { shellWord } from '../../contract/text/shell-word';
import type { Context } from '../context';
import { escapeText } from '../../contract/text/escape';
import { confirm } from '../review/confirm';
import { withTerminal } from '../review/terminal';
import type { ResetCall } from '../../history/reset';
import type { Screen } from '../print/screen';
import { tableLines } from '../print/table';

interface ResetOptions {
  before: string;
  reason?: string;
  yes?: boolean;
}

/** `reset <turn> --before <call>`. */
export function addReset(program: Command, context: Context): void {
  program
    .command('reset <turn>')
    .description('take a turn back to before a call; this changes the turn, and later decisions are lost')
    .requiredOption('--before <call>', 'the call, such as 2.1; it is requested or started again')
    .option('--reason <text>', 'why; kept on record')
    .option('-y, --yes', 'do it without asking')
    .action((turn: string, options: ResetOptions) => reset(turn, options, context));
}

async function reset(prefix: string, options: ResetOptions, context: Context) {
  await context.withClient(async (client) => {
    const turn = await client.find(prefix);
    const plan = await client.planReset(turn, options.before);
    if (!context.json) context.screen.lines(resetLines(plan, context.screen));
    const hint = 'Look at what it would do, then add --yes.';
    const ask = () =>
      withTerminal(context.keyboard, hint, (terminal) => confirm(terminal, `Reset ${escapeText(turn)}?`));
    if (options.yes !== true && !(await ask())) return context.screen.line('Nothing was changed.');
    const { command, print, as: approver } = context;
    const { runId } = await client.reset(plan, { reason: options.reason, approver });
    print({ turn, runId, plan }, () => [
      `${escapeText(turn)} was reset`,
      `Follow it: ${command(`show ${shellWord(turn)} --follow`)}`,
    ]);
  });
}

/** The effects of a reset, call by call. */
export function resetLines({ turn, before, calls }: ResetPlan, screen: Screen): string[] {
  const { style } = screen;
  const rows = calls.map((call) => {
    const cell = { text: outcomeOf(call), ...(needsLook(call) && { paint: style.warn }) };
    return [escapeText(call.callId), escapeText(call.tool), cell];
  });
  return [
    style.strong(`${escapeText(turn)} goes back to before ${escapeText(before)}`),
    ...tableLines({ head: ['CALL', 'TOOL', 'AFTERWARDS'], rows, flex: 2 }, screen),
  ];
}

function needsLook(call: ResetCall) {
  const { outcome } = call;
  return outcome === 'in_doubt' || outcome === 'forgotten' || (outcome === 'asked_again' && isSpent(call));
}

function outcomeOf(call: ResetCall): string {
  switch (call.outcome) {
    case 'asked_again':
      return isSpent(call)
        ? 'waits for a decision; it ran already, so then in doubt'
        : 'waits for a decision';
    case 'in_doubt':
      return call.ran
        ? 'in doubt: it ran already and is not run again'
        : 'in doubt: it may start in another run, so not in this one';
    case 'runs_again':
      return call.effect === 'pure' ? 'runs again' : 'runs again, with the same key';
    case 'starts':
      return 'starts';
    case 'forgotten':
      return call.effect === 'pure' ? 'forgotten' : 'forgotten; what it did stays done';
  }
}

function isSpent({ ran, effect }: ResetCall) {
  return ran && effect === 'unsafe';
}
