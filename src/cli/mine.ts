import type { Command } from 'commander';
import type { InboxQuery } from '../client';
import type { Context } from './context';
import { escapeText } from '../contract/text/escape';
import { APPROVERS_FILE } from './review/sign';
import { usageError } from '../contract/errors';

/** The option that chooses the items that wait for one person. */
export interface MineOptions {
  mine?: boolean;
}

/** Adds this option to a command. */
export function addMineOption(command: Command): Command {
  return command.option('--mine', 'only what you may decide by the approvers file, and have not voted on');
}

/** Makes the query for the items that wait for one person. Undefined without `--mine`. */
type Mine = Pick<InboxQuery, 'whom'> | undefined;

/**
 * Makes the query for the items of the inbox that wait for one person. The approvers file is read again when it changes.
 *
 * @throws CountersignError `usage` for a person who is not in the file, and the errors of `loadApprovers`.
 */
export async function readMine(
  { mine }: MineOptions,
  { screen, as: name, approversFile: file = APPROVERS_FILE }: Context,
): Promise<Mine> {
  if (mine !== true) return undefined;
  const { openApprovers } = await import('../authority/rules/current-file.js');
  const note = (line: string) => screen.note(escapeText(line));
  const source = await openApprovers({ file, warn: note });
  let last = await source.current();
  const person = last.personOf(name);
  if (person === undefined) throw usageError(`${name} is not in ${file}`, 'Say who you are with --as.');
  const readAgain = async () => {
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
