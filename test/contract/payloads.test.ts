import { LIMITS } from '../../src/contract/limits';
import { readCallOutput, readResult, readVerifyOutput } from '../../src/contract/call-payloads';
import { isTurnInput, readPrepareOutput, readThinkOutput } from '../../src/contract/payloads';
import { holderQueue } from '../../src/contract/names';
import { result, thinkOutput } from '../history/script';
import { PLAN, validCall } from '../support/calls';

const call = validCall();
const invalid = { kind: 'invalid', callId: '1.1', id: 'm', tool: 'x y', proposed: {}, result: result('1.1') };
const remote = { kind: 'remote', callId: '1.1', id: 'm', tool: 'pay', taskQueue: 'far', raw: '{}' };
const HOLDER = { queue: holderQueue({ pid: 7, host: 'h' }, 'x'), begunBy: 'k:1.1:0', runId: 'r' };
const failed = { ...result('1.1'), success: false, error: { code: 'tool', message: 'no' } };

const settingsOf = (more: object) => ({
  ...thinkOutput([]),
  calls: [{ ...call, settings: { ...call.settings, ...more } }],
});

describe('a reply', () => {
  it.each<[string, unknown]>([
    ['without calls', thinkOutput([])],
    ['with a call that runs', thinkOutput([validCall({ kind: 'run' })])],
    ['with a call that shows a plan', thinkOutput([validCall({ plan: PLAN })])],
    ['with a call whose request never expires', thinkOutput([validCall({ expiresMs: null })])],
    ['with a call that cannot run, of any name', { ...thinkOutput([]), calls: [invalid] }],
    ['with a call of another queue', { ...thinkOutput([]), calls: [remote] }],
    ['with a call that waits on a queue of a long name', settingsOf({ taskQueue: 'q'.repeat(1000) })],
    ['with a call that waits on a queue of any letters', settingsOf({ taskQueue: 'é'.repeat(250) })],
    ['with what it used', { ...thinkOutput([]), usage: { inputTokens: 1, outputTokens: 2 } }],
  ])('%s is read', (_case, output) => {
    expect(readThinkOutput(output)).toEqual(output);
  });

  it('with as many calls and people as fit is read', () => {
    const people = Array.from({ length: 500 }, (_, n) => ({ name: `p${n}`, groups: ['g'], delegates: [] }));
    const rule = { name: 'r', then: 'ask', rosters: [['group:g']], need: 2, groups: [], notRequester: true };
    const more = { fileDigest: 'f', ruleDigest: 'r', people, requesters: [] };
    const authority = { ...more, rule: { ...rule, denyNeeds: 1, assurance: 'claimed' } };
    const calls = Array.from({ length: LIMITS.callsPerStep }, (_, n) => ({
      ...validCall({ callId: `1.${n + 1}` }),
      authority,
    }));
    const output = { ...thinkOutput([]), calls };
    expect(JSON.stringify(output).length).toBeLessThan(LIMITS.thinkResultBytes);
    expect(readThinkOutput(output)).toEqual(output);
  });

  const change = (more: object) => ({ ...thinkOutput([]), calls: [{ ...call, ...more }] });

  it.each<[string, unknown]>([
    ['that is nothing', undefined],
    ['that is a text', 'done'],
    ['that is a list', []],
    ['without an id', { ...thinkOutput([]), replyId: '' }],
    ['without calls', { ...thinkOutput([]), calls: undefined }],
    ['of an order that nobody knows', { ...thinkOutput([]), order: 'random' }],
    ['of half a step', { ...thinkOutput([]), maxSteps: 0.5 }],
    ['with two calls of one id', thinkOutput([call, call])],
    ['with a call of a kind that nobody knows', change({ kind: 'skip' })],
    ['with a call whose id is too long', change({ callId: 'x'.repeat(65) })],
    ['with a call that is one of our activities', change({ tool: 'countersign.think' })],
    ['with a call without arguments', change({ arguments: 'none' })],
    ['with arguments that are not JSON', change({ arguments: { at: Number.NaN } })],
    ['with a time that no timer takes', settingsOf({ timeoutMs: 1e13 })],
    ['with a time of nothing', settingsOf({ startWithinMs: 0 })],
    ['with half an attempt', settingsOf({ retry: { ...call.settings.retry, maximumAttempts: 0.5 } })],
    ['with an effect that nobody knows', settingsOf({ effect: 'maybe' })],
    ['with a tool whose name is over 1,000 bytes', change({ tool: 'é'.repeat(501) })],
    ['with a tool whose name is half a character', change({ tool: '\ud800' })],
    ['with a queue whose name is over 1,000 bytes', settingsOf({ taskQueue: 'é'.repeat(501) })],
    ['with a queue whose name is half a character', settingsOf({ taskQueue: '\ud800' })],
    ['with a queue that is the own of the server', settingsOf({ taskQueue: '/_sys/other/1' })],
    [
      'with an agent whose name is too long',
      settingsOf({ child: { agent: 'a'.repeat(1001), outputBytes: 1 } }),
    ],
    [
      'with a call of another queue and a name that is too long',
      { ...thinkOutput([]), calls: [{ ...remote, tool: 'x'.repeat(1001) }] },
    ],
    [
      'with a call that cannot run and a name that is too long',
      { ...thinkOutput([]), calls: [{ ...invalid, tool: 'x'.repeat(1001) }] },
    ],
    ['with an id of the model that is too long', change({ id: 'x'.repeat(1001) })],
    [
      'with a currency that no budget takes',
      { ...thinkOutput([]), usage: { cost: 1, currency: 'x'.repeat(11) } },
    ],
    [
      'with more calls than are answered',
      {
        ...thinkOutput([]),
        calls: Array.from({ length: 1001 }, (_, n) => ({ ...invalid, callId: `1.${n}` })),
      },
    ],
    ['with fewer tokens than none', { ...thinkOutput([]), usage: { inputTokens: -1 } }],
    [
      'with a result that failed and does not say why',
      { ...thinkOutput([]), calls: [{ ...invalid, result: { ...result('1.1'), success: false } }] },
    ],
  ])('%s is not read', (_case, output) => {
    expect(readThinkOutput(output)).toBeUndefined();
  });
});

const SECRET = 'what only the worker knows that took the call';

const readPrepared = (value: unknown, callId: string): unknown =>
  readPrepareOutput(value, { callId, tool: 'pay' });

const readOutput = (value: unknown, callId: string): unknown =>
  readCallOutput(value, { callId, secret: SECRET });

describe('what is of one call is read for that call only', () => {
  it.each<[string, (value: unknown, callId: string) => unknown, unknown]>([
    ['a prepared call', readPrepared, { call }],
    ['an output', readOutput, { result: result('1.1') }],
    ['an output that failed', readOutput, { result: failed }],
    ['what it did', readVerifyOutput, { outcome: 'happened', result: result('1.1') }],
    ['a result', readResult, result('1.1')],
  ])('%s', (_case, read, value) => {
    expect(read(value, '1.1')).toBe(value);
    expect(read(value, '1.2')).toBeUndefined();
  });
});

describe('what a turn starts with', () => {
  const counts = { calls: 0, failed: 0, requests: 0, denied: 0, modified: 0, expired: 0, inDoubt: 0 };
  const carried = {
    ...{ step: 1, transcript: [{ kind: 'words', text: 'go' }], droppedBefore: 0, results: [], spent: [] },
    ...{ counts, usage: {}, signalVerdicts: [] },
  };
  const start = (more: object = {}) => ({ agent: 'clerk', prompt: 'pay', ...more });
  const carry = (more: object) => start({ carried: { ...carried, ...more } });
  const entry = (more: object) => carry({ transcript: [more] });
  const WAIT = { callId: '1.1', seenDigest: 'd', since: 0, deadline: 1 };
  const MOVED = { reply: { ...thinkOutput([]), calls: [remote] }, waits: [WAIT] };
  const moved = (more: object) =>
    carry({
      transcript: [{ kind: 'reply', replyId: 'r', text: '', calls: [] }],
      moved: { ...MOVED, ...more },
    });

  it.each<[string, unknown]>([
    ['an agent and a prompt', start()],
    ['what the run before carried', carry({})],
    [
      'who holds state',
      carry({
        states: [
          ['g', { holder: HOLDER }],
          ['h', { lost: true }],
        ],
      }),
    ],
    [
      'a reply with its calls',
      entry({
        kind: 'reply',
        replyId: 'r',
        text: '',
        calls: [{ callId: '1.1', id: 'm', tool: 'pay', arguments: {} }],
      }),
    ],
    ['a fork', start({ fork: { of: 't', from: '1.1', world: 'dry', given: thinkOutput([]) } })],
    ['a step that came along from another build', moved({})],
    ['one with a request that never expires', moved({ waits: [{ ...WAIT, deadline: null }] })],
  ])('is enough: %s', (_case, input) => {
    expect(isTurnInput(input)).toBe(true);
  });

  it.each<[string, unknown]>([
    ['nothing', undefined],
    ['a moved step without a reply', moved({ reply: {} })],
    ['a moved step without calls', moved({ reply: thinkOutput([]) })],
    ['a moved step that waits since no time', moved({ waits: [{ ...WAIT, since: 'now' }] })],
    ['a moved step without a request', moved({ waits: [{}] })],
    ['a moved step whose reply is not the last entry', carry({ moved: MOVED })],
    ['state without a group', carry({ states: [{ lost: true }] })],
    ['a holder that is not one', carry({ states: [['g', { holder: 'me' }]] })],
    ['a text', 'clerk'],
    ['no agent', { prompt: 'pay' }],
    ['an agent without a name', start({ agent: '' })],
    ['a prompt that is not a text', start({ prompt: 7 })],
    ['counts that are missing', carry({ counts: {} })],
    ['a step before the first', carry({ step: -1 })],
    ['an entry of a kind that nobody knows', entry({ kind: 'song', text: '' })],
    ['words without a text', entry({ kind: 'words' })],
    [
      'a result that does not say whether it failed',
      entry({ kind: 'result', callId: '1.1', id: 'm', tool: 'pay', content: '' }),
    ],
    [
      'a reply with a call without arguments',
      entry({ kind: 'reply', replyId: 'r', text: '', calls: [{ callId: '1.1', id: 'm', tool: 'pay' }] }),
    ],
    ['a fork of a world that nobody knows', start({ fork: { of: 't', from: '1.1', world: 'moon' } })],
    [
      'a fork whose first step cannot be read',
      start({ fork: { of: 't', from: '1.1', world: 'dry', given: {} } }),
    ],
  ])('is not: %s', (_case, input) => {
    expect(isTurnInput(input)).toBe(false);
  });
});

test.each([
  ['pay', 'raise_budget'],
  ['raise_budget', 'pay'],
  ['raise_budget', 'raise_session_budget'],
])('what is prepared of %s is never a call of %s', (tool, other) => {
  const made = (name: string) => ({ call: { ...call, tool: name } });
  expect(readPrepareOutput(made(tool), { callId: '1.1', tool })).toEqual(made(tool));
  expect(readPrepareOutput(made(other), { callId: '1.1', tool })).toBeUndefined();
});
