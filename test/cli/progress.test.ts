import { withWaitingNote, withProgress } from '../../src/cli/progress';

beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());

const run = async (isTerminal: boolean) => {
  const said: string[] = [];
  let done = 0;
  const work = withProgress(
    { isTerminal, note: (text) => said.push(text) },
    () => `done ${done}`,
    async () => {
      for (done = 1; done <= 5; done += 1) await jest.advanceTimersByTimeAsync(1_000);
      return 'over';
    },
  );
  expect(await work).toBe('over');
  await jest.advanceTimersByTimeAsync(10_000);
  return said;
};

it('says every two seconds how far it is, and nothing once it is over', async () => {
  expect(await run(true)).toEqual(['done 2', 'done 4']);
});

it('says nothing where nobody reads along', async () => {
  expect(await run(false)).toEqual([]);
});

it('stops where the work fails', async () => {
  const said: string[] = [];
  const failing = withProgress(
    { isTerminal: true, note: (text) => said.push(text) },
    () => 'x',
    () => Promise.reject(new Error('no')),
  );
  await expect(failing).rejects.toThrow('no');
  await jest.advanceTimersByTimeAsync(10_000);
  expect(said).toEqual([]);
});

describe('patience', () => {
  const wait = async (seconds: number): Promise<string[]> => {
    const said: string[] = [];
    const work = withWaitingNote(
      { note: (text) => said.push(text) },
      () => 'waiting',
      () => jest.advanceTimersByTimeAsync(seconds * 1_000),
    );
    await work;
    await jest.advanceTimersByTimeAsync(10_000);
    return said;
  };

  it('says once what is waited for, and nothing where it does not take long', async () => {
    expect(await wait(60)).toEqual(['waiting']);
    expect(await wait(1)).toEqual([]);
  });
});
