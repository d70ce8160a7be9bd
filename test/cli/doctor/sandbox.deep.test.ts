import { type CgroupFiles, checkSandbox, describeCgroups } from '../../../src/cli/doctor/sandbox';
import { CountersignError } from '../../../src/contract/errors';
import { sandbox, type Sandbox } from '../../../src/tools/sandbox';
import { describeWithBubblewrap } from '../../support/sandbox';

describeWithBubblewrap('a machine with bubblewrap', () => {
  it('holds every limit, each of which was tried', async () => {
    expect(await checkSandbox()).toEqual({
      name: 'sandbox',
      state: 'ok',
      detail: expect.stringMatching(
        /^starts; home, network and system are closed; limits that hold: cpu, memory, processes, openFiles, fileSize, tmp \(by rlimit: .* for each process, not for all together; .*cgroup/,
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
    new CountersignError('sandbox_unavailable', 'there is no bubblewrap', { hint: 'Install it.' }),
    { state: 'warning', detail: 'none: there is no bubblewrap', todo: 'Install it.' },
  ],
])('tells of %s', async (_case, error, expected) => {
  const describeIt = () => Promise.reject(error);
  expect(await checkSandbox({ ...sandbox(), describe: describeIt })).toMatchObject(expected);
});

it.each<[string, Partial<CgroupFiles>, RegExp]>([
  ['nothing', { own: undefined }, /no cgroups/],
  ['an empty file', { own: '' }, /no cgroups/],
  ['version 1', { own: '4:memory:/\n3:pids:/\n2:cpu,cpuacct:/\n' }, /cgroup v1/],
  ['both, memory by version 1', { own: '5:blkio,memory:/a\n1:name=systemd:/a\n0::/a\n' }, /cgroup v1/],
  ['version 2 beside a name that only looks like it', { own: '1:name=memory:/\n0::/a\n' }, /not used yet/],
  ['version 2 without controllers', { controllers: undefined }, /no controller for memory and pids/],
  ['version 2 without one', { controllers: 'cpu memory\n' }, /no controller for pids/],
  ['version 2 that is of root', { canWrite: false }, /not delegated/],
  ['version 2 that is ours', {}, /not used yet/],
])('tells of cgroups: %s', (_case, change, said) => {
  const files = { own: '0::/user.slice/a\n', controllers: 'cpu memory pids\n', canWrite: true, ...change };
  expect(describeCgroups(files)).toMatch(said);
});
