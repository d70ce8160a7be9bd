import type { Command } from 'commander';
import type { Countersign } from '../../client';
import { defined } from '../../history/defined';
import { osUser, type Context } from '../context';

interface CancelOptions {
  abandon?: boolean;
  reason?: string;
  as?: string;
  json?: boolean;
}

/** `cancel <turn>`. */
export function addCancel(program: Command, context: Context): void {
  program
    .command('cancel <turn>')
    .description('end a turn: close its requests, cancel what runs and wait for it')
    .option('--abandon', 'end it although calls are in doubt; they stay unresolved on record')
    .option('--reason <text>', 'why; kept on record')
    .option('--as <name>', 'who ends it (default: your name on this machine)')
    .option('--json', 'print JSON')
    .action((turn: string, options: CancelOptions) => cancel(turn, options, context));
}

async function cancel(prefix: string, options: CancelOptions, context: Context): Promise<void> {
  await context.withDesk(async (desk) => {
    const turn = await desk.find(prefix);
    const { endedAt, status } = await desk.view(turn);
    if (endedAt === null) await end(desk, turn, options);
    tell({ turn, ended: endedAt === null ? undefined : status, options }, context);
  });
}

async function end(desk: Countersign, turn: string, { abandon, reason, as }: CancelOptions): Promise<void> {
  if (abandon === true) await desk.abandon(turn, { ...defined({ reason }), approver: as ?? osUser() });
  else await desk.cancel(turn, reason);
}

interface Done {
  turn: string;
  /** How it had ended before; undefined where it had not. */
  ended: string | undefined;
  options: CancelOptions;
}

function tell({ turn, ended, options }: Done, { screen, command }: Context): void {
  const abandoned = options.abandon === true;
  if (options.json === true) screen.json({ turn, abandoned, ...defined({ ended }) });
  else if (ended !== undefined) screen.line(`${turn} had ended already: ${ended.replaceAll('_', ' ')}`);
  else if (abandoned) screen.line(`${turn} is given up`);
  else {
    screen.line(`${turn} was asked to end; running calls are waited for`);
    screen.line(`Follow it: ${command(`show ${turn} --follow`)}`);
  }
}
