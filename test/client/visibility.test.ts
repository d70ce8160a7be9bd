import { CountersignError } from '../../src/contract/errors';
import { STATUS } from '../../src/history/server-errors';
import { limitVisibility, VisibilityLimit } from '../../src/client/visibility';

beforeEach(() => {
  jest.useFakeTimers({ now: 0 });
  jest.spyOn(Math, 'random').mockReturnValue(1);
});
afterEach(() => {
  jest.useRealTimers();
  jest.restoreAllMocks();
});

/** What a server says that was asked too often. */
const refused = (): Error =>
  Object.assign(new Error('8 RESOURCE_EXHAUSTED: namespace rate limit exceeded'), {
    code: STATUS.resourceExhausted,
    details: 'namespace rate limit exceeded',
    metadata: {},
  });

const strict = (): VisibilityLimit => {
  const limit = new VisibilityLimit();
  limit.beStrict();
  return limit;
};

/** When each of these calls went out. */
const timesOf = (limit: VisibilityLimit, lanes: ('reader' | 'others')[]) => {
  const times: [string, number][] = [];
  for (const lane of lanes) void limit.run(lane, 60_000, async () => void times.push([lane, Date.now()]));
  return times;
};

it('lets the first calls of a program through at once, and then two a second', async () => {
  const times = timesOf(new VisibilityLimit(), Array<'others'>(14).fill('others'));
  await jest.advanceTimersByTimeAsync(10_000);
  expect(times.map(([, at]) => at)).toEqual([...Array<number>(10).fill(0), 500, 1000, 1500, 2000]);
});

it('lets a few through at once again after a silence', async () => {
  const limit = new VisibilityLimit();
  timesOf(limit, Array<'others'>(10).fill('others'));
  await jest.advanceTimersByTimeAsync(1_000);
  const times = timesOf(limit, Array<'others'>(4).fill('others'));
  await jest.advanceTimersByTimeAsync(10_000);
  expect(times.map(([, at]) => at)).toEqual([1_000, 1_000, 1_500, 2_000]);
});

it('lets two a second through from the first call on where a program reads for long', async () => {
  const times = timesOf(strict(), Array<'reader'>(5).fill('reader'));
  await jest.advanceTimersByTimeAsync(10_000);
  expect(times.map(([, at]) => at)).toEqual([0, 500, 1000, 1500, 2000]);
});

it('lets the reader of the inbox take turns with all others', async () => {
  const times = timesOf(strict(), ['others', 'others', 'others', 'others', 'reader', 'reader']);
  await jest.advanceTimersByTimeAsync(10_000);
  expect(times.map(([lane]) => lane)).toEqual(['others', 'reader', 'others', 'reader', 'others', 'others']);
});

it.each([-3_600_000, 3_600_000])('keeps its pace where the time of day jumps by %d ms', async (jump) => {
  const limit = strict();
  await limit.run('others', 60_000, async () => undefined);
  jest.setSystemTime(Date.now() + jump);
  const since = performance.now();
  const times: number[] = [];
  for (let count = 0; count < 3; count++)
    void limit.run('others', 60_000, async () => void times.push(performance.now() - since));
  await jest.advanceTimersByTimeAsync(10_000);
  expect(times).toEqual([500, 1_000, 1_500]);
});

it('ends its pause in time where the time of day is set back', async () => {
  const limit = strict();
  const call = jest.fn((): Promise<unknown> => Promise.reject(refused()));
  await limit.run('reader', 0, call).catch(() => undefined);
  jest.setSystemTime(Date.now() - 3_600_000);
  expect(limit.pauseMs).toBe(1000);
  await jest.advanceTimersByTimeAsync(1_000);
  call.mockResolvedValue('at last');
  expect(await limit.run('reader', 0, call)).toBe('at last');
});

it('waits twice as long after each refusal, and asks again by itself', async () => {
  const limit = strict();
  const times: number[] = [];
  const answer = limit.run('others', 60_000, async () => {
    times.push(Date.now());
    if (times.length < 5) throw refused();
    return 'at last';
  });
  await jest.advanceTimersByTimeAsync(60_000);
  expect(await answer).toBe('at last');
  expect(times).toEqual([0, 1000, 3000, 7000, 15_000]);
});

it('waits half a minute at most, and begins anew once the server answers', async () => {
  const limit = strict();
  const pauses: number[] = [];
  for (let count = 0; count < 8; count++) {
    await limit.run('reader', 0, () => Promise.reject(refused())).catch(() => undefined);
    pauses.push(limit.pauseMs);
    await jest.advanceTimersByTimeAsync(limit.pauseMs);
  }
  expect(pauses.slice(-2)).toEqual([30_000, 30_000]);
  await limit.run('reader', 0, async () => undefined);
  await jest.advanceTimersByTimeAsync(500);
  await limit.run('reader', 0, () => Promise.reject(refused())).catch(() => undefined);
  expect(limit.pauseMs).toBe(1000);
});

it('says when it asks again to whoever cannot wait so long, without asking', async () => {
  const limit = strict();
  const call = jest.fn(() => Promise.reject(refused()));
  const attempt = () => limit.run('reader', 0, call).catch((error: unknown) => error);
  expect(await attempt()).toMatchObject({ code: 'server_busy', data: { retryInMs: 1000 } });
  await jest.advanceTimersByTimeAsync(400);
  expect(await attempt()).toMatchObject({ code: 'server_busy', data: { retryInMs: 600 } });
  expect(call).toHaveBeenCalledTimes(1);
});

it('hands on every other failure, and keeps its pace', async () => {
  const limit = strict();
  const other = new CountersignError('no_server', 'gone');
  await expect(limit.run('reader', 0, () => Promise.reject(other))).rejects.toBe(other);
  expect(limit.pauseMs).toBe(0);
});

it('limits what a connection asks visibility, and nothing else', async () => {
  const asked: string[] = [];
  const service = Object.fromEntries(
    ['listWorkflowExecutions', 'countWorkflowExecutions', 'describeTaskQueue', 'getSystemInfo'].map(
      (name) => [name, async () => void asked.push(`${name} ${Date.now()}`)],
    ),
  );
  const withDeadline = async (_: number, act: () => Promise<unknown>) => act();
  const connection = { workflowService: service, withDeadline } as unknown as Parameters<
    typeof limitVisibility
  >[0];
  const limited = limitVisibility(connection, { limit: strict(), lane: 'others', patienceMs: 0 });
  const { workflowService } = limited;
  void workflowService.listWorkflowExecutions({});
  void workflowService.countWorkflowExecutions({});
  void workflowService.getSystemInfo({});
  void workflowService.describeTaskQueue({});
  await jest.advanceTimersByTimeAsync(5000);
  expect(asked.sort()).toEqual([
    ...[
      'countWorkflowExecutions 500',
      'describeTaskQueue 1000',
      'getSystemInfo 0',
      'listWorkflowExecutions 0',
    ],
  ]);
});
