import type { Command } from 'commander';
import type { InboxQuery } from '../client';
import type { Context } from './context';
import { escapeText } from '../contract/text/escape';
import { APPROVERS_FILE } from './review/sign';
import { usageError } from '../contract/errors';

/** Options that choose the items that wait for one person. */
export interface MineOptions {
  mine?: boolean;
  approvers?: string;
  /** The option `--sign`, which reads the same file. */
  sign?: string | true;
}

/** Adds these options to a command. */
export function addMineOptions(command: Command): Command {
  command.option('--mine', 'only what you may decide by the approvers file, and have not voted on');
  const signing = command.options.find(({ long }) => long === '--approvers');
  if (signing === undefined)
    return command.option('--approvers <file>', `with --mine: the file (default: ${APPROVERS_FILE})`);
  signing.description = signing.description.replace('with --sign:', 'with --sign or --mine:');
  return command;
}

/** Makes the query for the items that wait for one person. Undefined without `--mine`. */
export type Mine = Pick<InboxQuery, 'whom'> | undefined;

/**
 * Makes the query for the items of the inbox that wait for one person. The approvers file is read again when it changes.
 *
 * @throws CountersignError `usage` for a person who is not in the file, and the errors of `loadApprovers`.
 */
export async function readMine(
  { mine, approvers, sign }: MineOptions,
  { screen, as: name }: Context,
): Promise<Mine> {
  if (mine !== true && approvers !== undefined && sign === undefined)
    throw usageError('--approvers is for --mine');
  if (mine !== true) return undefined;
  const { openApprovers } = await import('../authority/rules/current-file.js');
  const file = approvers ?? APPROVERS_FILE;
  const note = (line: string): void => screen.note(escapeText(line));
  const source = await openApprovers({ file, warn: note });
  let last = await source.current();
  const person = last.personOf(name);
  if (person === undefined) throw usageError(`${name} is not in ${file}`, 'Say who you are with --as.');
  const readAgain = async (): Promise<void> => {
    last = await source.current();
  };
  return {
    whom: () => {
      // This query does not wait. The next query gets the file that is read now.
      void readAgain();
      return { person, people: last.people };
    },
  };
}
