import type { JsonObject } from '../../src/contract/json';
import { makeFailure, makeSuccess } from '../../src/contract/result';
import type { CallEnd } from '../../src/gateway/backend';
import type { ClientCall } from '../../src/gateway/call-id';
import type { Gateway } from '../../src/gateway/gateway';
import {
  answerHook,
  claudeCodeOutput,
  codexRefusal,
  type HookAnswer,
  hookSettings,
} from '../../src/gateway/hooks';

const facts = { timestamp: '2026-01-01T00:00:00.000Z' };
const event = { hook_event_name: 'PreToolUse', tool_name: 'Bash', tool_input: { command: 'ls' } };
const resultWith = (args: JsonObject): CallEnd => ({
  ...{ kind: 'result' },
  result: makeSuccess(
    { id: 'c', callId: '1.1', tool: 'agent__bash', arguments: args },
    { content: 'Permitted.', contentType: 'text' },
    facts,
  ),
});

/** Answers an event, by a gateway on which this becomes of the call. */
const answer = async (text: string, decide: (call: ClientCall, signal: AbortSignal) => Promise<CallEnd>) => {
  const calls: ClientCall[] = [];
  const gateway = {
    decide: (call: ClientCall, signal: AbortSignal) => {
      calls.push(call);
      return decide(call, signal);
    },
  };
  const open = (): Promise<Gateway> => Promise.resolve<Gateway>(Object.assign(Object.create(null), gateway));
  const parts = {
    hookTools: { Bash: {} },
    open,
    who: 'ann',
    signal: new AbortController().signal,
    waitMs: 50,
  };
  return { answered: await answerHook(text, parts), calls };
};

it('asks under the id of the agent, and allows what was approved', async () => {
  const asked = { ...event, tool_use_id: 'toolu_1', session_id: 's' };
  const { answered, calls } = await answer(JSON.stringify(asked), () =>
    Promise.resolve(resultWith({ command: 'ls -a' })),
  );
  expect(calls).toEqual([
    { who: 'ann', tool: 'agent__bash', arguments: { command: 'ls' }, key: ['hook', 's', 'toolu_1'] },
  ]);
  expect(answered).toMatchObject({ answer: 'allow', input: { command: 'ls -a' }, isChanged: true });
});

it.each([
  ['an id', {}],
  ['a session', { tool_use_id: 'call_1' }],
])('never lets two calls without %s share a decision', async (_, more) => {
  const text = JSON.stringify({ ...event, ...more });
  const keyOf = async () => (await answer(text, () => Promise.resolve(resultWith({})))).calls[0]?.key;
  expect(await keyOf()).not.toEqual(await keyOf());
});

it.each([
  ['another event', { ...event, hook_event_name: 'PostToolUse' }],
  ['a tool that is not named', { ...event, tool_name: 'Read' }],
  ['a tool with the name of a field of objects', { ...event, tool_name: 'constructor' }],
])('lets %s pass without a call', async (_case, given) => {
  const { answered, calls } = await answer(JSON.stringify(given), () => Promise.reject(new Error('asked')));
  expect(answered).toEqual({ answer: 'pass' });
  expect(calls).toEqual([]);
});

it.each([
  ['no JSON', '{'],
  ['no object', '7'],
  ['no tool', JSON.stringify({ tool_input: {} })],
  ['arguments that are a text', JSON.stringify({ ...event, tool_input: 'ls' })],
  ['an empty input', ''],
  ['two readings of one text', '{"tool_name":"Bash","tool_input":{"command":"ls","command":"rm"}}'],
  ['a number that JavaScript changes', '{"tool_name":"Bash","tool_input":{"n":9007199254740993}}'],
])('denies %s', async (_case, text) => {
  const { answered } = await answer(text, () => Promise.resolve(resultWith({})));
  expect(answered.answer).toBe('deny');
});

const denied = makeFailure(
  { id: 'c', callId: '1.1', tool: 'agent__bash', arguments: {} },
  { code: 'denied', message: 'bea denied this call: no. Nothing ran.' },
  facts,
);

it.each<[string, () => Promise<CallEnd>, string]>([
  ['a denial', () => Promise.resolve({ kind: 'result', result: denied }), 'bea denied this call'],
  ['a cancelled call', () => Promise.resolve({ kind: 'cancelled', message: 'cancelled' }), 'cancelled'],
  ['a failed turn', () => Promise.resolve({ kind: 'failed', message: 'it failed' }), 'it failed'],
  ['a server that is away', () => Promise.reject(new Error('no server answers')), 'no server answers'],
])('denies after %s', async (_case, decide, words) => {
  const { answered } = await answer(JSON.stringify(event), decide);
  expect(answered).toMatchObject({ answer: 'deny', reason: expect.stringContaining(words) });
});

it('denies when nobody decides in time', async () => {
  const { answered } = await answer(
    JSON.stringify(event),
    (_call, signal) =>
      new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('over')))),
  );
  expect(answered).toMatchObject({
    answer: 'deny',
    reason: expect.stringContaining('nobody decided in time'),
  });
});

const ALLOWED = { answer: 'allow', reason: 'Permitted.', input: { command: 'ls' } } as const;
const DENIED = { answer: 'deny', reason: 'no' } as const;

it.each<[HookAnswer, JsonObject]>([
  [{ answer: 'pass' }, {}],
  [
    { ...ALLOWED, isChanged: false },
    {
      hookSpecificOutput: {
        ...{
          hookEventName: 'PreToolUse',
          permissionDecision: 'allow',
          permissionDecisionReason: 'Permitted.',
        },
        updatedInput: { command: 'ls' },
      },
    },
  ],
  [
    DENIED,
    {
      hookSpecificOutput: {
        ...{ hookEventName: 'PreToolUse', permissionDecision: 'deny', permissionDecisionReason: 'no' },
      },
    },
  ],
])('Claude Code reads %j', (answered, expected) => {
  expect(claudeCodeOutput(answered)).toEqual(expected);
});

it.each<[HookAnswer, RegExp | undefined]>([
  [{ answer: 'pass' }, undefined],
  [{ ...ALLOWED, isChanged: false }, undefined],
  [{ ...ALLOWED, isChanged: true }, /with changes only.*\{"command":"ls"\}/],
  [DENIED, /^no$/],
])('Codex leaves a call after %j', (answered, expected) => {
  const refusal = codexRefusal(answered);
  if (expected === undefined) expect(refusal).toBeUndefined();
  else expect(refusal).toMatch(expected);
});

it.each([
  ['claude-code', { command: 'x' }, { type: 'command', command: 'x', timeout: 86_400, onFailure: 'block' }],
  ['codex', { command: 'x' }, { type: 'command', command: 'x', timeout: 86_400 }],
  [
    'claude-code',
    { url: 'http://127.0.0.1:1/' },
    { type: 'http', url: 'http://127.0.0.1:1/', onFailure: 'block' },
  ],
] as const)('the settings of %s block what fails', (agent, how, hook) => {
  expect(hookSettings(agent, ['Bash', 'mcp__a.b'], how)).toMatchObject({
    hooks: { PreToolUse: [{ matcher: 'Bash|mcp__a.b', hooks: [hook] }] },
  });
});
