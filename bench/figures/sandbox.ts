import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createEvalTools } from '../../lib/tools/eval';
import { makeContext } from '../../lib/tools/context';
import { sandbox as makeSandbox } from '../../lib/tools/sandbox';
import { absolute, alternate, median, timed, type Measurement } from '../figure';

const ROUNDS = 200;

/** The program alone, by Node and nothing of ours: what our own runner does after a command would hide a part of the cost. */
const bare = (): Promise<unknown> =>
  once(spawn('true', { cwd: '/', env: { PATH: '/usr/bin:/bin' } }), 'close');

/** What a sandbox adds to a command, and what a call of code takes in a process that is there. */
export const sandbox: Measurement = {
  name: 'sandbox',
  async run({ say }) {
    if (spawnSync('bwrap', ['--version']).status !== 0) {
      say('there is no bubblewrap here; the figures of the sandbox are left out');
      return [];
    }
    const { signal } = new AbortController();
    const box = makeSandbox();
    const [tool] = createEvalTools();
    const context = makeContext({ callId: '1.1', tool: 'eval_code', turn: 'bench' }, {}, { signal });
    const [outside, inside, calls] = await alternate(
      ROUNDS,
      () => timed(bare),
      () => timed(() => box.run({ argv: ['true'] })),
      () => timed(async () => tool?.handle({ code: '1 + 1' }, context)),
    );
    const over = (inside ?? []).map((ms, index) => ms - (outside?.[index] ?? NaN));
    return [
      absolute('command in a sandbox, over the bare one', median(over), { most: 40, unit: 'ms' }),
      absolute('call of eval_code in a process that is there', median(calls), { most: 10, unit: 'ms' }),
    ];
  },
};
