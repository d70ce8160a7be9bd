import { parsePolicy } from '../../../src/authority/rules/policy-file';
import { createComparison, type PolicyTest } from '../../../src/cli/policy-test/compare';
import { type PastCall, pastCalls } from '../../../src/cli/policy-test/past';
import type { JsonSchema } from '../../../src/contract/tool';
import { viewOf } from '../../../src/history/view';
import { defineAgent } from '../../../src/tools/define-agent';
import { defineTool } from '../../../src/tools/define-tool';
import { offlineModel } from '../../../src/models/offline';
import { accepted, ask, requested, result, run, Script } from '../../history/script';
import { request } from '../support';

type PolicyCandidate = Parameters<typeof createComparison>[0];

const parameters: JsonSchema = {
  type: 'object',
  properties: { n: { type: 'integer' } },
  required: ['n'],
  additionalProperties: false,
};
const tool = (name: string, safety: 'safe' | 'dangerous') =>
  defineTool({ name, description: 'x', parameters, safety, handler: () => '' });
const agents = [
  defineAgent({
    ...{ name: 'clerk', instructions: 'x', model: offlineModel() },
    tools: [tool('look', 'safe'), tool('pay', 'dangerous')],
  }),
];
const UNTIL = new Date(Date.now() + 86_400_000).toISOString().slice(0, 10);
const made = (more: Partial<PastCall> = {}): PastCall => ({
  ...{ turn: 't', callId: '1.1', agent: 'clerk', tool: 'pay', args: { n: 5 }, was: 'ask', outcome: 'done' },
  ...more,
});

async function testOf(
  text: string,
  calls: PastCall[],
  more: Partial<PolicyCandidate> = {},
): Promise<PolicyTest> {
  const rules = parsePolicy(`rules: [${text}]`, 'policy.yaml');
  const comparison = createComparison({ agents, rules, approvers: undefined, ...more });
  for (const call of calls) await comparison.add(call);
  return comparison.test({ turns: 1, forks: 0 });
}

it('says what would be otherwise, by which rule, and why', async () => {
  const text = `{ name: small, tools: [pay], when: args.n < 10, then: run, until: ${UNTIL} }, { name: odd, tools: [look], when: args.n == 1, then: refuse, reason: odd }`;
  const look = { tool: 'look', was: 'run' } as const;
  const calls = [
    made(),
    made({ args: { n: 50 } }),
    made({ ...look, args: { n: 1 } }),
    made({ ...look, args: { n: 2 } }),
  ];
  expect(await testOf(text, calls)).toEqual({
    ...{ from: 'policy.yaml', turns: 1, forks: 0, calls: 4, same: 2, unknown: {}, invalid: 0 },
    otherwise: [
      expect.objectContaining({ tool: 'pay', was: 'ask', would: 'run', rule: 'small' }),
      expect.objectContaining({
        tool: 'look',
        was: 'run',
        would: 'refuse',
        why: "the rule 'odd' refuses it: odd",
      }),
    ],
    rules: [
      { name: 'small', then: 'run', fits: 1 },
      { name: 'odd', then: 'refuse', fits: 1 },
    ],
  });
});

it.each<[string, PastCall, Partial<PolicyTest>]>([
  ['an agent that the config lacks', made({ agent: 'other' }), { calls: 0, unknown: { pay: 1 } }],
  [
    'a tool that it lacks, of which the record says little',
    made({ tool: 'gone' }),
    { calls: 0, unknown: { gone: 1 } },
  ],
  [
    'a tool that it lacks, as the record says',
    made({ tool: 'shop__pay', request: request({ server: 'shop' }) }),
    { calls: 1, same: 1 },
  ],
  ['arguments that the tool does not take today', made({ args: { m: 1 } }), { calls: 0, invalid: 1 }],
])('counts %s', async (_, call, found) => expect(await testOf('', [call])).toMatchObject(found));

it('holds calls against the code of today where there are no rules', async () => {
  const calls = [made({ was: 'run' }), made()];
  expect(await testOf('', calls, { rules: undefined })).toMatchObject({
    from: null,
    same: 1,
    otherwise: [{ would: 'ask' }],
  });
});

describe('the calls of a past turn', () => {
  const decided = (decision: string) =>
    requested()
      .wait(10)
      .update('decide', { callId: '1.1', decision, approver: 'ann' }, accepted('1.1', decision))
      .open([]);
  const ended = (script: Script) =>
    script.done(script.call(ask('1.1')), { result: result('1.1'), contentDigest: 'x' });
  const failed = { success: false, content: 'no', error: { code: 'tool', message: 'no' } };
  const refused = { kind: 'invalid', callId: '1.1', id: 'x', tool: 'look', proposed: { n: 1 } } as const;
  const looked = () =>
    new Script()
      .started()
      .task()
      .think(1, [run('1.1')]);

  it.each<[string, Script, object | undefined]>([
    ['approved, and it ran', ended(decided('approved')), { was: 'ask' }],
    ['denied', decided('denied'), { was: 'ask' }],
    ['one that waits', requested(), { was: 'ask' }],
    ['one that ran at once', ended(looked()), { was: 'run' }],
    [
      'one that the policy refused',
      new Script()
        .started()
        .task()
        .think(1, [
          { ...refused, result: result('1.1', { ...failed, error: { code: 'refused', message: 'no' } }) },
        ]),
      { was: 'refuse' },
    ],
    [
      'one that was not valid',
      new Script()
        .started()
        .task()
        .think(1, [
          { ...refused, result: result('1.1', { ...failed, error: { code: 'validation', message: 'no' } }) },
        ]),
      undefined,
    ],
  ])('%s', (_, script, expected) => {
    const [call] = pastCalls(viewOf(script.fold()));
    if (expected === undefined) expect(call).toBeUndefined();
    else expect(call).toMatchObject(expected);
  });

  it('keeps what the rules said on record', () => {
    const ruling = { rule: 'small', digest: 'x', then: 'run' } as const;
    const view = viewOf(
      new Script()
        .started()
        .task()
        .think(1, [run('1.1', { ruling })])
        .fold(),
    );
    expect(view.calls[0]?.ruling).toEqual(ruling);
  });
});
