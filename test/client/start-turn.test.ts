import type { Desk } from '../../src/client/desk';
import { startTurn } from '../../src/client/start-turn';
import { grpcError } from '../history/fake-server';

/** A desk whose server refuses to start anything, the first times in one way and then in another. */
function refusing(errors: Error[]): { desk: Desk; attempts: () => number } {
  let attempts = 0;
  const start = async (): Promise<never> => {
    const error = errors[Math.min(attempts, errors.length - 1)];
    attempts += 1;
    throw new Error('Failed to start Workflow', { cause: error });
  };
  const withDeadline = async <T>(_: unknown, act: () => Promise<T>): Promise<T> => act();
  const desk = {
    client: { workflow: { start } },
    connection: { withDeadline },
    readyMs: 300,
  } as unknown as Desk;
  return { desk, attempts: () => attempts };
}

test.each([
  ['no agent', { agent: ' ', prompt: 'x' }],
  ['an agent whose name is too long', { agent: 'a'.repeat(201), prompt: 'x' }],
  ['no prompt', { agent: 'a', prompt: ' \n' }],
  ['a prompt over 1 MiB', { agent: 'a', prompt: 'ä'.repeat(600_000) }],
  ['an id with a slash', { agent: 'a', prompt: 'x', id: 'a/b' }],
])('%s is refused before anything is asked', async (_, request) => {
  const { desk, attempts } = refusing([new Error('not asked')]);
  await expect(startTurn(desk, request)).rejects.toMatchObject({ code: 'usage' });
  expect(attempts()).toBe(0);
});

const unknown = grpcError(
  3,
  'Namespace default has no mapping defined for search attribute CountersignState',
);

test('unknown search attributes are waited for, then the worker is named', async () => {
  const { desk, attempts } = refusing([unknown]);
  await expect(startTurn(desk, { agent: 'a', prompt: 'x' })).rejects.toMatchObject({
    code: 'not_ready',
    hint: expect.stringContaining('countersign worker'),
  });
  expect(attempts()).toBeGreaterThan(1);
});

test.each([
  ['server_failed', grpcError(3, 'workflow id is too long'), 'workflow id is too long'],
  ['server_failed', grpcError(7, 'no'), 'no'],
  ['no_server', grpcError(14, 'connection refused'), 'does not answer'],
  ['server_failed', new Error('odd'), 'odd'],
])('other refusals are told at once: %s', async (code, error, words) => {
  const { desk, attempts } = refusing([error]);
  await expect(startTurn(desk, { agent: 'a', prompt: 'x' })).rejects.toMatchObject({
    code,
    message: expect.stringContaining(words),
  });
  expect(attempts()).toBe(1);
});
