import type { ClientContext } from '../../src/client/context';
import { findTurn, isTurn, shortIds } from '../../src/client/find-turn';
import { grpcError } from '../history/fake-server';

/** A namespace with these workflows, by id: a turn, another workflow that gates calls, or one of another application. */
function contextOf(workflows: Record<string, 'turn' | 'gated' | 'other'>): {
  context: ClientContext;
  queries: string[];
} {
  const queries: string[] = [];
  const describeWorkflowExecution = async ({ execution }: { execution: { workflowId: string } }) => {
    const kind = workflows[execution.workflowId];
    if (kind === undefined) throw grpcError(5, 'workflow not found');
    const name = kind === 'turn' ? 'agentTurn' : 'refundOrder';
    const indexedFields = kind === 'gated' ? { CountersignAgent: {} } : {};
    return { workflowExecutionInfo: { type: { name }, searchAttributes: { indexedFields } } };
  };
  const list = async function* ({ query }: { query: string }) {
    queries.push(query);
    const quoted = [...query.matchAll(/STARTS_WITH '((?:[^'\\]|\\.)*)'/g)];
    const prefixes = quoted.map(([, text = '']) => text.replaceAll("\\'", "'"));
    for (const workflowId of Object.keys(workflows))
      if (prefixes.some((prefix) => workflowId.startsWith(prefix))) yield { workflowId };
  };
  const context = {
    namespace: 'default',
    connection: {
      workflowService: { describeWorkflowExecution },
      withDeadline: async <T>(_: unknown, act: () => Promise<T>): Promise<T> => act(),
    },
    lister: { workflow: { list } },
  } as unknown as ClientContext;
  return { context, queries };
}

test.each([
  ['a turn', 'turn', true],
  ['a workflow that gates calls', 'gated', true],
  ['a workflow of another application', 'other', false],
] as const)('%s counts as a turn: %s, %s', async (_, kind, is) => {
  expect(await isTurn(contextOf({ w: kind }).context, 'w')).toBe(is);
});

test('an id that nothing has is not a turn', async () => {
  expect(await isTurn(contextOf({}).context, 'w')).toBe(false);
});

test('an exact id wins over longer ones, and visibility is not asked', async () => {
  const { context, queries } = contextOf({ 'turn-1': 'turn', 'turn-12': 'turn' });
  expect(await findTurn(context, 'turn-1')).toBe('turn-1');
  expect(queries).toEqual([]);
});

test('a prefix finds the one turn that begins with it', async () => {
  const { context, queries } = contextOf({ 'turn-12': 'turn' });
  expect(await findTurn(context, 'turn-')).toBe('turn-12');
  expect(queries).toEqual([expect.stringContaining("WorkflowId STARTS_WITH 'turn-'")]);
});

test.each([
  ['a schedule gave it', 'daily-2026-11-22T09:09:30Z', 'daily-2026-11-22T'],
  ['it has a quote', "order's", "order'"],
  ['it has other letters', 'заказ-1', 'заказ'],
])('an id is found by its beginning: %s', async (_, id, prefix) => {
  const { context, queries } = contextOf({ [id]: 'turn' });
  expect(await findTurn(context, prefix)).toBe(id);
  expect(await findTurn(context, id)).toBe(id);
  expect(queries).toHaveLength(1);
});

test('a prefix of several turns names some of them', async () => {
  const ids = Array.from({ length: 12 }, (_, index) => `turn-${String(index).padStart(2, '0')}`);
  const { context } = contextOf(Object.fromEntries(ids.map((id) => [id, 'turn'])));
  await expect(findTurn(context, 'turn-')).rejects.toMatchObject({
    code: 'usage',
    message: expect.stringMatching(/turn-09, …$/),
    data: { candidates: ids.slice(0, 10) },
  });
});

test.each([
  ['no turn begins with', 'nothing', 'not_found'],
  ['cannot be an id', "a' OR ''='", 'not_found'],
  ['names a path', 'a/b', 'not_found'],
  ['is empty', '', 'not_found'],
  ['looks like an option', '--jsn', 'usage'],
])('text that %s is refused', async (_, text, code) => {
  await expect(findTurn(contextOf({ t: 'turn' }).context, text)).rejects.toMatchObject({ code });
});

describe('short ids', () => {
  const turns = (...ids: string[]) => contextOf(Object.fromEntries(ids.map((id) => [id, 'turn'])));

  test('are beginnings that no other turn has, and find the same turn', async () => {
    const ids = [
      'turn-mi9q2k3ztabcd',
      'turn-mi9q2k3zuabcd',
      'turn-mi9zzzzzzabcd',
      'daily-2026-11-22T09:09:30Z',
    ];
    const { context, queries } = turns(...ids, 'daily-2026-11-22T10:09:30Z');
    const short = await shortIds(context, ids);
    expect([...short.values()]).toEqual([
      'turn-mi9q2k3zt',
      'turn-mi9q2k3zu',
      'turn-mi9zzz',
      'daily-2026-11-22T0',
    ]);
    expect(queries).toHaveLength(1);
    for (const [id, start] of short) expect(await findTurn(context, start)).toBe(id);
  });

  test('an id that begins another one stays whole', async () => {
    const { context } = turns('order', 'order-2');
    expect((await shortIds(context, ['order'])).get('order')).toBe('order');
  });

  test('are missing where too many turns are asked about', async () => {
    const { context, queries } = turns();
    const ids = Array.from({ length: 51 }, (_, n) => `turn-${n}`);
    expect((await shortIds(context, ids)).size).toBe(0);
    expect(queries).toEqual([]);
  });
});
