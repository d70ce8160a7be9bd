import { Command } from 'commander';
import type { Countersign } from '../../src/client';
import { type Context, createContext } from '../../src/cli/context';
import { addSharedOptions } from '../../src/cli/flags';
import type { Screen } from '../../src/cli/print/screen';
import { testScreen } from './support';

/** What a command printed, how it ended, and what it asked of the server. */
export interface CommandRun {
  printed: string[];
  code: number;
  asked: [method: string, ...args: unknown[]][];
}

type Answers = Partial<Record<keyof Countersign, unknown>>;

/** The context of the commands of `program`, which have this client. */
export function testContext(
  client: Countersign,
  screen: Screen,
  { program = new Command(), ...parts }: { program?: Command } & Partial<Context> = {},
): Context {
  addSharedOptions(program);
  const context = createContext({
    ...{ screen, env: {}, keyboard: undefined, exitWith: () => undefined },
    ...{ options: () => program.opts(), typed: (sentence) => sentence },
    ...parts,
  });
  const own: Pick<Context, 'withClient' | 'command'> = {
    withClient: (use) => use(client),
    command: (line) => `cs ${line}`,
  };
  return Object.assign(context, own);
}

/** Runs one command on a server that answers like this; `find` takes each prefix for the whole id, and nothing is paused. `client` and `session` are what the client has. */
export async function runCommand(
  add: (program: Command, context: Context) => void,
  answers: Answers,
  ...args: string[]
): Promise<CommandRun> {
  const screen = testScreen();
  let code = 0;
  const asked: CommandRun['asked'] = [];
  const answer =
    (name: string) =>
    async (...given: unknown[]) => {
      if (name === 'find') return given[0];
      if (name === 'pauses') return answers.pauses ?? { control: 'open', pauses: [] };
      asked.push([name, ...given]);
      return Reflect.get(answers, name);
    };
  const client: Countersign = new Proxy(Object.create(null), {
    get: (_, method) =>
      method === 'client' || method === 'session' ? answers[method] : answer(String(method)),
  });
  const program = new Command().exitOverride().configureOutput({ writeErr: () => undefined });
  add(program, testContext(client, screen, { program, exitWith: (given) => (code = given) }));
  await program.parseAsync(args, { from: 'user' });
  return { printed: screen.printed, code, asked };
}
