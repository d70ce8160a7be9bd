import { Command } from 'commander';
import type { Countersign } from '../../../src/client';
import { addShow } from '../../../src/cli/commands/show';
import { wasPrinted } from '../../../src/cli/review/seen';
import { CountersignError } from '../../../src/contract/errors';
import { scratchDirectory } from '../../support/scratch';
import { runCommand, testContext } from '../command';
import { call, testScreen, turn } from '../support';

const changedTools = [{ callId: '1.1', now: 'gone' }];
const show = (...args: string[]) =>
  runCommand(addShow, { view: turn([call()]), changedTools }, 'show', ...args);

it('shows a call in full, and of a tool that is gone only how to deny it', async () => {
  const { printed } = await show('t-1/1.1');
  const text = printed.join('\n');
  expect(text).toContain('the tool pay is not there any more');
  expect(text).toContain('cs deny t-1/1.1');
  expect(text).not.toContain('cs approve');
});

it('prints a call as JSON', async () => {
  const { printed } = await show('t-1/1.1', '--json');
  expect(JSON.parse(printed[0] ?? '')).toMatchObject({ callId: '1.1', phase: 'request' });
});

it.each<[name: string, target: string, code: string]>([
  ['a call that is not there', 't-1/7', 'not_found'],
  ['more than a turn and a call', 't-1/1/1', 'usage'],
])('refuses %s', async (_name, target, code) => {
  await expect(show(target)).rejects.toMatchObject({ code });
});

describe('what counts as seen', () => {
  const scratch = scratchDirectory();
  const view = turn([call()]);

  /** Shows something at a terminal, where the server answers about changed tools like this. Says whether it is seen. */
  async function isSeen(target: string, changed: () => Promise<unknown>): Promise<boolean> {
    const env = { XDG_STATE_HOME: scratch() };
    const answers = { find: async () => 't-1', view: async () => view, changedTools: changed };
    const rest = {
      timeline: async () => [],
      pendingActivities: async () => [],
      pauses: async () => ({ pauses: [] }),
    };
    const client: Countersign = new Proxy(Object.create(null), {
      get: (_, method) => Reflect.get({ ...answers, ...rest }, method),
    });
    const program = new Command().exitOverride();
    addShow(program, testContext(client, { ...testScreen(), isTerminal: true }, { program, env }));
    await program.parseAsync(['show', target], { from: 'user' }).catch(() => undefined);
    const [{ request: asked } = call()] = view.calls;
    return asked !== undefined && wasPrinted(asked, env);
  }

  it('is what was printed', async () => {
    expect(await isSeen('t-1/1.1', async () => [])).toBe(true);
  });

  it('is not what the server failed to tell', async () => {
    const away = async () => Promise.reject(new CountersignError('no_server', 'it is away'));
    expect(await isSeen('t-1/1.1', away)).toBe(false);
  });
});
