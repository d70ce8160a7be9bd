import { DefaultLogger } from '@temporalio/worker';
import { openHealth } from '../../src/worker/health';
import type { ProbePort } from '../../src/server/probes';
import { freePorts } from '../../src/engine/server-args';

type State = ReturnType<Parameters<typeof openHealth>[1][number]['getState']>;

let open: ProbePort | undefined;
afterEach(() => open?.close());

const askAt = async (
  path: string,
  states: State[],
  isServerThere = true,
  fault?: string,
): Promise<[number, string]> => {
  const [port = 0] = await freePorts(1);
  const connection = Object.assign(Object.create(null), {
    withDeadline: (_until: number, ask: () => Promise<unknown>) => ask(),
    workflowService: {
      getSystemInfo: () => (isServerThere ? Promise.resolve({}) : Promise.reject(new Error('gone'))),
    },
  });
  const workers = states.map((state) => Object.assign(Object.create(null), { getState: () => state }));
  const parts = { connection, journal: { fault: async () => fault }, log: new DefaultLogger('ERROR') };
  open = await openHealth(String(port), workers, parts);
  const answer = await fetch(`http://127.0.0.1:${port}${path}`);
  return [answer.status, await answer.text()];
};

it.each<[string, State[], boolean, number, string]>([
  ['/health', ['RUNNING', 'RUNNING'], true, 200, 'ok\n'],
  ['/health', ['RUNNING', 'DRAINING'], true, 200, 'ok\n'],
  ['/health', ['RUNNING'], false, 200, 'ok\n'],
  ['/health', ['RUNNING', 'FAILED'], true, 503, 'failed\n'],
  ['/ready', ['RUNNING', 'RUNNING'], true, 200, 'ready\n'],
  ['/ready', ['RUNNING', 'DRAINING'], true, 503, 'not ready: the worker is draining\n'],
  ['/ready', ['FAILED'], true, 503, 'not ready: the worker is failed\n'],
  ['/ready', ['RUNNING'], false, 503, "not ready: Temporal's server does not answer\n"],
])(
  'answers %s of workers that are %j, server there: %s, with %d',
  async (path, states, isThere, ...answer) => {
    expect(await askAt(path, states, isThere)).toEqual(answer);
  },
);

it('is not ready while the journal of unsafe calls fails', async () => {
  const answer = await askAt('/ready', ['RUNNING'], true, 'ENOSPC');
  expect(answer).toEqual([503, 'not ready: the journal of unsafe calls fails: ENOSPC\n']);
});
