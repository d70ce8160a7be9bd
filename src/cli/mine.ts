import { join } from 'node:path';
import type { Command } from 'commander';
import type { InboxQuery } from '../client';
import { type Context, osUser } from './context';
import { usageError } from './options';
import { escapeText } from './print/escape';
import { APPROVERS_FILE } from './review/sign';

/** Options that choose what waits for one person. */
export interface MineOptions {
  mine?: boolean;
  as?: string;
  approvers?: string;
  /** What else reads that file. */
  sign?: string | true;
}

/** Adds these options to a command that has `--as`. */
export function addMineOptions(command: Command): Command {
  command.option('--mine', 'only what you may decide by the approvers file, and have not voted on');
  const signing = command.options.find(({ long }) => long === '--approvers');
  if (signing === undefined)
    return command.option('--approvers <file>', `with --mine: the file (default: ${APPROVERS_FILE})`);
  signing.description = signing.description.replace('with --sign:', 'with --sign or --mine:');
  return command;
}

/**
 * What of the inbox waits for somebody. The file is read again when it changes.
 *
 * @throws CountersignError `usage` for somebody who is not in the file; as `loadApprovers`.
 */
export async function readMine(
  { mine, as: name = osUser(), approvers, sign }: MineOptions,
  { screen }: Context,
): Promise<Pick<InboxQuery, 'whom'>> {
  if (mine !== true && approvers !== undefined && sign === undefined)
    throw usageError('--approvers is for --mine');
  if (mine !== true) return {};
  const { openApprovers } = await import('../authority/source.js');
  const file = approvers ?? join(process.cwd(), APPROVERS_FILE);
  const source = await openApprovers({ file, warn: (line) => screen.note(escapeText(line)) });
  let last = await source.current();
  const person = last.personOf(name);
  if (person === undefined) throw usageError(`${name} is not in ${file}`, 'Say who you are with --as.');
  return {
    whom: () => {
      // Whoever asks next gets what is read now.
      void source.current().then((now) => (last = now));
      return { person, people: last.people };
    },
  };
}
