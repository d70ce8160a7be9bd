import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, type Countersign } from '../../src/client';
import type { TurnView } from '../../src/history/view';
import { listens } from '../cli/cli-worker';
import { startCli, startProgram, type RunningCommand } from '../cli/process';
import { startHere } from '../cli/run-cli';
import { root } from './build';
import { snippetsOf } from './docs';
import { writeScript } from './scratch';
import { startOwnServer, testCli } from './server';
import { until } from './until';

/** A reader's machine: a folder with the agents of the docs, a server, a worker, and a shell. */
export interface DocsPlace {
  folder: string;
  client: Countersign;
  /** Starts a line as a shell would. What needs neither a shell nor a config runs in this process. */
  type(line: string): RunningCommand;
  /** Starts a turn that makes these calls, and waits until a person is asked. */
  request(...calls: { tool: string; args: object }[]): Promise<string>;
  /** Waits until a turn looks so. */
  look(turn: string, what: string, is: (view: TurnView) => boolean): Promise<TurnView>;
  stop(): Promise<void>;
}

const OWN_BIN = join('node_modules', '.bin');

/** Makes the calls that the prompt spells, one a step, then tells the last result. */
const AGENTS = `
import {
  createShellTools,
  createWorkspaceTools,
  defineAgent,
  defineTool,
  TransportError,
  type Model,
} from 'countersign';
import { z } from 'zod';
import clerk from './examples/my-agent';
import support from './my-agent';

const about = { safety: 'dangerous', description: 'Moves money.' } as const;
const pay = defineTool({
  ...about,
  name: 'pay',
  parameters: z.object({ amount: z.number() }),
  handler: ({ amount }) => \`paid \${amount}\`,
});
const giveBack = defineTool({
  ...about,
  name: 'give_back',
  parameters: z.object({ order: z.string(), cents: z.number() }),
  handler: ({ order, cents }) => \`refunded \${cents} of \${order}\`,
});
const lose = defineTool({
  ...about,
  name: 'lose',
  parameters: z.object({}),
  handler: () => {
    throw new TransportError('the line went dead');
  },
});
const model: Model = {
  id: 'told',
  generate: async ({ messages }) => {
    const results = messages.filter(({ role }) => role === 'tool');
    const call = JSON.parse(messages[0]?.content ?? '[]')[results.length];
    if (call === undefined) return { text: results.at(-1)?.content ?? '', toolCalls: [], finishReason: 'stop' };
    const { tool, args } = call;
    return { text: '', toolCalls: [{ name: tool, arguments: JSON.stringify(args) }], finishReason: 'tool-calls' };
  },
};
const told = defineAgent({
  name: 'told',
  instructions: 'Do as you are told.',
  model,
  models: { other: model },
  tools: [pay, giveBack, lose, ...createWorkspaceTools({ root: 'files' }), ...createShellTools({ root: 'files' })],
});
export default [clerk, support, told];
`;

/** Makes the place. */
export async function makePlace(): Promise<DocsPlace> {
  const folder = await makeFolder();
  const server = await startOwnServer();
  const env = { TEMPORAL_ADDRESS: server.address, XDG_STATE_HOME: folder, WORKSPACE: 'files' };
  const worker = startCli(['worker', 'agents.ts'], { env, cwd: folder });
  await listens(worker).catch(async (error: unknown) => {
    await server.stop();
    throw error;
  });
  const client = await connect({ address: server.address });
  const look = (turn: string, what: string, is: (view: TurnView) => boolean): Promise<TurnView> =>
    until(`${turn} to be ${what}`, async () => {
      const view = await client.view(turn);
      return is(view) && view;
    });
  return {
    folder,
    client,
    look,
    type: (line) =>
      typeIn(line, { ...env, PATH: `${join(folder, 'bin')}:${process.env['PATH'] ?? ''}` }, folder),
    request: async (...calls) => {
      const { turn } = await client.start({ agent: 'told', prompt: JSON.stringify(calls) });
      await look(turn, 'waiting', ({ requests }) => requests.length > 0);
      return turn;
    },
    stop: async () => {
      await client.close();
      worker.signal('SIGTERM');
      await worker.ended;
      await server.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** The examples, the agent of getting started under the name it says, and the programs that readers have. */
async function makeFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'countersign-docs-'));
  for (const name of ['bin', 'files', 'node_modules', OWN_BIN]) await mkdir(join(folder, name));
  // Where npm would put it, so that commands are printed as a reader types them.
  await symlink(join(root, 'bin', 'countersign.js'), join(folder, OWN_BIN, 'countersign'));
  await symlink(root, join(folder, 'node_modules', 'countersign'));
  await cp(join(root, 'examples'), join(folder, 'examples'), { recursive: true });
  const [first] = snippetsOf('ts').filter(({ page }) => page === 'docs/getting-started.md');
  await writeFile(join(folder, 'my-agent.ts'), first?.text ?? '');
  await writeFile(join(folder, 'agents.ts'), AGENTS);
  writeScript(
    join(folder, 'bin', 'npx'),
    'test "$1" = countersign || exit 127',
    'shift',
    `exec '${process.execPath}' '${join(root, 'bin', 'countersign.js')}' "$@"`,
  );
  await symlink(testCli(), join(folder, 'bin', 'temporal'));
  return folder;
}

/** `npm` is typed in the checkout, everything else where the reader's agents are. */
function typeIn(line: string, env: NodeJS.ProcessEnv, folder: string): RunningCommand {
  const words = /agents\.ts|init/.test(line) ? undefined : wordsOf(line);
  if (words !== undefined) return startHere(words, { env, cwd: folder });
  return startProgram(['sh', '-c', line], { env, cwd: line.startsWith('npm ') ? root : folder });
}

/** The words of a command of ours. Undefined if only a shell can read the line. */
function wordsOf(line: string): string[] | undefined {
  const [, rest] =
    /^npx countersign((?: +(?:[^\s'"$`\\|&;<>*~#]|'[^']*'|"[^"$`\\]*")+)+)$/.exec(
      line.replace(/ +# .*$/, ''),
    ) ?? [];
  const words = rest?.match(/(?:[^\s'"]|'[^']*'|"[^"]*")+/g);
  return words?.map((word) => word.replace(/'([^']*)'|"([^"]*)"/g, (_all, one = '', two = '') => one + two));
}
