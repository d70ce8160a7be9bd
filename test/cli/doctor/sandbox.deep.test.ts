import { checkSandbox } from '../../../src/cli/doctor/sandbox';
import { CountersignError } from '../../../src/contract/errors';
import { sandbox, type Sandbox } from '../../../src/tools/sandbox';
import { describeWithBubblewrap } from '../../support/sandbox';

describeWithBubblewrap('a machine with bubblewrap', () => {
  it('holds every limit, each of which was tried', async () => {
    expect(await checkSandbox()).toEqual({
      name: 'sandbox',
      state: 'ok',
      detail: expect.stringMatching(
        /^starts; home, network and system are closed; limits that hold: cpu, memory, processes, openFiles, fileSize, tmp \(by rlimit: .* for each process, not for all together\); the filter of system calls holds$/,
      ),
    });
  });

  it('is found out where limits do not hold', async () => {
    // These are larger than what is tried.
    const { state, detail } = await checkSandbox(sandbox());
    expect(state).toBe('bad');
    expect(detail).toBe('it starts, and leaves open: cpu, openFiles, memory, fileSize, tmp, processes');
  });
});

it.each([
  ['home\nnetwork\ndone', 'it starts, and leaves open: home, network'],
  ['sh: cannot', 'it starts, and says: sh: cannot'],
])('calls %j bad', async (output, detail) => {
  const end = { code: 0, signal: null, isHeld: false, killed: 0, survivors: 0, output };
  const box: Sandbox = { ...sandbox(), describe: async () => 'limits: all', run: async () => end };
  expect(await checkSandbox(box)).toMatchObject({ state: 'bad', detail });
});

it.each<[string, Error, object]>([
  [
    'no bubblewrap',
    new CountersignError('config_invalid', 'there is no bubblewrap', { hint: 'Install it.' }),
    {
      state: 'warning',
      detail: 'none for the programs that agents start: there is no bubblewrap',
      todo: 'Install it.',
    },
  ],
])('tells of %s', async (_case, error, expected) => {
  const describeIt = () => Promise.reject(error);
  expect(await checkSandbox({ ...sandbox(), describe: describeIt })).toMatchObject(expected);
});
