import type { SignalInput } from '@temporalio/workflow';
import { interceptors } from '../../src/workflows/signal-interceptor';

const quick = jest.fn();
const next = jest.fn(() => Promise.resolve());
let end: () => void = () => undefined;

const mockHandlers = new Map<string, { handler: (...args: unknown[]) => unknown }>([
  ['quick', { handler: quick }],
  ['slow', { handler: () => new Promise<void>((resolve) => (end = resolve)) }],
  [
    'broken',
    {
      handler: () => {
        throw new Error('a bug');
      },
    },
  ],
]);
jest.mock('../../src/workflows/sdk-internals', () => ({
  signalHandlerOf: (name: string) => mockHandlers.get(name)?.handler,
  isSeenLater: () => mockSeenLater,
}));
let mockSeenLater = false;
let mockType = 'agentTurn';
jest.mock('@temporalio/workflow', () => ({
  ...jest.requireActual('@temporalio/workflow'),
  workflowInfo: () => ({ workflowType: mockType }),
}));
afterEach(() => {
  mockSeenLater = false;
  mockType = 'agentTurn';
});

const signal = (signalName: string, args: unknown[] = []): Promise<void> => {
  const [inbound] = interceptors().inbound ?? [];
  const input: SignalInput = { signalName, args, headers: {} };
  if (inbound?.handleSignal === undefined) throw new Error('nothing handles signals');
  return inbound.handleSignal(input, next);
};

it('calls a handler at once and gives back a promise that is kept', async () => {
  const done = jest.fn();
  const kept = signal('quick', ['one', 2]);
  expect(quick).toHaveBeenCalledWith('one', 2);
  kept.catch(done).finally(done);
  expect(done).toHaveBeenCalledTimes(1);
  await expect(kept).resolves.toBeUndefined();
  expect(await kept.then(() => 'then')).toBe('then');
  expect(next).not.toHaveBeenCalled();
});

it('waits for a handler that takes longer', async () => {
  const done = jest.fn();
  const ended = signal('slow').finally(done);
  await Promise.resolve();
  expect(done).not.toHaveBeenCalled();
  end();
  await ended;
  expect(done).toHaveBeenCalledTimes(1);
});

it('breaks the promise with what a handler throws, as without an interceptor', async () => {
  await expect(signal('broken')).rejects.toThrow('a bug');
});

it.each([
  ["of an application's workflow", () => (mockType = 'order')],
  ['that a later interceptor sees, too', () => (mockSeenLater = true)],
])('passes on a signal %s', async (_what, set) => {
  set();
  await signal('quick', [3]);
  expect(next).toHaveBeenCalledWith({ signalName: 'quick', args: [3], headers: {} });
  expect(quick).not.toHaveBeenCalledWith(3);
});

it('leaves a signal without a handler to the SDK', async () => {
  await signal('unknown', [1]);
  expect(next).toHaveBeenCalledWith({ signalName: 'unknown', args: [1], headers: {} });
});
