import {
  agentPlugin,
  agentsAmong,
  approversAmong,
  approversPlugin,
  toolSetIn,
  workerIdentity,
} from '../../src/contract/worker-name';

const here = { pid: 7, host: 'host.example' };

it('names process, machine and a digest; the digest is that of the agents and tools alone', () => {
  const name = workerIdentity(here, { ops: { pay: 'd1', look: 'd2' } });
  expect(name).toMatch(/^7@host\.example#[0-9a-f]{8}$/);
  const other = workerIdentity({ pid: 8, host: 'b' }, { ops: { look: 'd2', pay: 'd1' } });
  expect(toolSetIn(other)).toBe(toolSetIn(name));
});

it.each([
  ['another agent', { ops2: { pay: 'd1' } }],
  ['a tool more', { ops: { pay: 'd1', look: 'd2' } }],
  ['a tool that changed', { ops: { pay: 'd2' } }],
  ['no tool', { ops: {} }],
])('%s makes another digest', (_, tools) => {
  expect(toolSetIn(workerIdentity(here, tools))).not.toBe(
    toolSetIn(workerIdentity(here, { ops: { pay: 'd1' } })),
  );
});

it.each(['7@host', 'me', '', '7@host#', '7@host#0123', '7@host#0123456789', '7@host#zzzzzzzz', 'x#01234567'])(
  'a worker called %j is of another kind',
  (name) => {
    expect(toolSetIn(name)).toBeUndefined();
  },
);

it('finds agents among the plugins of any worker', () => {
  const names = [
    'openai',
    agentPlugin('ops').name,
    'countersign.agent/',
    "countersign.agent/x' OR 'a'='a",
    agentPlugin('a-b_1').name,
  ];
  expect(agentsAmong(names)).toEqual(['ops', 'a-b_1']);
});

it('finds the approvers file among them', () => {
  const names = ['countersign.approvers/x', approversPlugin('ab'.repeat(32)).name];
  expect(approversAmong(names)).toBe('ab'.repeat(6));
  expect(approversAmong(['countersign.agent/ops'])).toBeUndefined();
});
