import type { ClientContext } from '../../src/client/context';
import { findTurn, isTurn } from '../../src/client/find-turn';
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
    const [, quoted = ''] = /STARTS_WITH '(.*)'/.exec(query) ?? [];
    const prefix = quoted.replaceAll("\\'", "'");
    for (const workflowId of Object.keys(workflows)) if (workflowId.startsWith(prefix)) yield { workflowId };
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
    code: 'ambiguous_id',
    message: expect.stringMatching(/turn-09, …$/),
    data: { candidates: ids.slice(0, 10) },
  });
});

test.each([
  ['no turn begins with', 'nothing', 'turn_not_found'],
  ['cannot be an id', "a' OR ''='", 'turn_not_found'],
  ['names a path', 'a/b', 'turn_not_found'],
  ['is empty', '', 'turn_not_found'],
  ['looks like an option', '--jsn', 'usage'],
])('text that %s is refused', async (_, text, code) => {
  await expect(findTurn(contextOf({ t: 'turn' }).context, text)).rejects.toMatchObject({ code });
});
