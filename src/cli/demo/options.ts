import { Command, Option } from 'commander';
import { CountersignError } from '../../contract/errors';

/** What the demo can be told to answer, for machines without a terminal. */
export const ANSWERS = ['approve', 'deny', 'edit'] as const;
export type DemoAnswer = (typeof ANSWERS)[number];

/** How the demo runs. Without `answer` a person is asked. */
export interface DemoOptions {
  answer?: DemoAnswer;
}

/**
 * Reads the command line of `npm run demo`.
 *
 * @throws CountersignError `usage` where nobody could answer; CommanderError for what the line does not allow, and for help.
 */
export function readDemoOptions(args: readonly string[], isTerminal: boolean): DemoOptions {
  const command = new Command('npm run demo --')
    .description(
      'One agent turn on a copy of a small project: it reads, proposes a change, and waits for you.',
    )
    .addOption(new Option('--answer <answer>', 'answer without being asked').choices(ANSWERS))
    .allowExcessArguments(false)
    .exitOverride()
    .configureOutput({ writeErr: () => undefined, outputError: () => undefined });
  const { answer } = command.parse(args, { from: 'user' }).opts<DemoOptions>();
  if (answer !== undefined) return { answer };
  if (isTerminal) return {};
  throw new CountersignError('usage', 'there is no terminal to ask at', {
    hint: `Say the answer: npm run demo -- --answer ${ANSWERS.join('|')}`,
  });
}
