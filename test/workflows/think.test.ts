import type { InvalidCall, PreparedCall } from '../../src/contract/call';
import { digestText } from '../../src/contract/digest';
import { makeFailure, type ToolResult } from '../../src/contract/result';
import type { Usage } from '../../src/contract/spending/usage';
import type { ThinkInput } from '../../src/contract/think';
import { DROPPED_OUTPUT } from '../../src/contract/transcript';
import { isTurnInput } from '../../src/contract/payloads';
import type { TurnInput } from '../../src/contract/turn';
import { inputOfNext } from '../../src/workflows/continue-turn';
import {
  appendReply,
  appendResults,
  applySeedStep,
  askForSteps,
  takeReply,
  thinkInput,
  turnRecordOf,
} from '../../src/workflows/think';
import { makeTurn, type Turn } from '../../src/workflows/turn-state';
import { authority, result, thinkOutput } from '../history/script';
import { approvalsWith, validCall } from '../support/calls';
import { endWorkflow, valueIn, WorkflowUnderTest } from '../support/workflow';

afterEach(endWorkflow);

const makeTestTurn = (more: Partial<TurnInput> = {}): Turn =>
  makeTurn({ agent: 'clerk', prompt: 'pay the bill', ...more }, 'run-1');

/** What the model's activity is given after the first reply, and its id. */
async function scheduled(turn: Turn, asked = 1): Promise<{ id: unknown; input: unknown }> {
  turn.spending.isSet = true;
  const { commands } = await WorkflowUnderTest.start(() => askForSteps(turn, asked));
  const activity = commands[0]?.scheduleActivity;
  return { id: activity?.activityId, input: valueIn(activity?.arguments?.[0]) };
}

describe('the model is asked', () => {
  const base: ThinkInput = { agent: 'clerk', step: 1, words: [], results: [], droppedBefore: 0 };

  it.each<[string, (turn: Turn) => void, Partial<ThinkInput>]>([
    ['at first with the prompt', () => undefined, { words: ['pay the bill'] }],
    [
      'then with results alone, after the last reply',
      (turn) => {
        appendReply(turn, thinkOutput([validCall()], { replyId: 'r1' }));
        appendResults(turn, [{ call: validCall(), result: result('1.1'), ours: true }]);
      },
      {
        after: { replyId: 'r1', count: 2 },
        results: [{ callId: '1.1', digest: digestText('done'), success: true, text: 'done' }],
      },
    ],
    [
      'with the size that results are cut to',
      (turn) => {
        turn.cutTo = 100;
      },
      { words: ['pay the bill'], cutTo: 100 },
    ],
  ])('%s', async (_, prepare, input) => {
    const turn = makeTestTurn();
    turn.step = 1;
    prepare(turn);
    expect((await scheduled(turn)).input).toEqual({ ...base, ...input });
  });

  it('under another id where its last reply could not be read', async () => {
    expect((await scheduled(makeTestTurn(), 2)).id).toBe('think-0-again-1');
  });

  it('with the model that a fork chose', async () => {
    const fork = { of: 't', from: '1.1', world: 'dry', model: 'large' } as const;
    expect((await scheduled(makeTestTurn({ fork }))).input).toMatchObject({ model: 'large' });
  });
});

describe('what the model returned', () => {
  it('leaves out the outputs that the conversation had no room for, from then on', () => {
    const turn = makeTestTurn();
    appendReply(turn, thinkOutput([validCall()], { replyId: 'r1' }));
    appendResults(turn, [{ call: validCall(), result: result('1.1'), ours: true }]);
    takeReply(turn, thinkOutput([], { replyId: 'r2', droppedBefore: 3 }));
    expect(turn.transcript.entries[2]).toMatchObject({ content: DROPPED_OUTPUT });
    expect(thinkInput(turn)).toMatchObject({ droppedBefore: 3, after: { replyId: 'r2', count: 4 } });
  });

  it.each([
    ['its first', 1, { shortened: true, tokens: 7 }],
    ['a later', 2, { shortened: true, tokens: undefined }],
  ])(
    'tells the session, in this run and the next, that %s conversation was too long',
    async (_, step, told) => {
      const session = { sessionId: 's', runId: 'r', messageId: 'm', count: 0, digest: '' };
      const turn = makeTestTurn({ session });
      for (turn.step = 1; turn.step <= 3; turn.step++) {
        const droppedBefore = turn.step === step ? 1 : undefined;
        takeReply(turn, thinkOutput([], { usage: { inputTokens: 7 }, droppedBefore }));
      }
      const said: unknown[] = [];
      await WorkflowUnderTest.start(async () => {
        const input = inputOfNext(turn, {});
        said.push(turnRecordOf(turn), isTurnInput(input), turnRecordOf(makeTurn(input, 'run-1')));
      });
      expect(said).toMatchObject([told, true, told]);
    },
  );

  it('enters the transcript and sets the limits of the turn', () => {
    const turn = makeTestTurn();
    const output = thinkOutput([], { maxSteps: 7, order: 'strict' });
    takeReply(turn, output);
    expect(turn).toMatchObject({ maxSteps: 7, order: 'strict' });
    expect(turn.transcript.entries.at(-1)).toMatchObject({ kind: 'reply', replyId: output.replyId });
  });

  it.each<[string, (Usage | undefined)[], Usage]>([
    ['nothing is known', [undefined], {}],
    [
      'some is known',
      [{ inputTokens: 3 }, undefined, { outputTokens: 1 }],
      { inputTokens: 3, outputTokens: 1 },
    ],
    ['all is known', [{ totalTokens: 3 }, { totalTokens: 4 }], { totalTokens: 7 }],
  ])('adds up its tokens where %s', (_, usages, sum) => {
    const turn = makeTestTurn();
    for (const usage of usages) takeReply(turn, thinkOutput([], usage && { usage }));
    expect(turn.usage).toEqual(sum);
  });
});

it('begins with the prompt, and in its next run does not add it again', async () => {
  const begun: unknown[] = [];
  await WorkflowUnderTest.start(async () => {
    const turn = makeTestTurn();
    const next = makeTurn(inputOfNext(turn, {}), 'run-1');
    begun.push(turn.transcript.entries, next.transcript.entries);
  });
  const words = [{ kind: 'words', text: 'pay the bill' }];
  expect(begun).toEqual([words, words]);
});

describe('the results of a step', () => {
  const failure = (code: 'denied' | 'expired' | 'tool'): ToolResult => {
    const { id, callId, tool } = validCall();
    return makeFailure({ id, callId, tool, arguments: {} }, { code, message: 'no' }, { timestamp: '' });
  };
  const none = { calls: 0, failed: 0, requests: 0, denied: 0, modified: 0, expired: 0, inDoubt: 0 };
  const recorded: PreparedCall = {
    ...{ kind: 'recorded', callId: '1.1', id: 'm', tool: 'pay', proposed: {} },
    result: result('1.1'),
  };
  const question = validCall({ question: true });
  const invalid: InvalidCall = {
    ...{ kind: 'invalid', callId: '1.1', id: 'm', tool: 'pay' },
    proposed: {},
    result: failure('tool'),
  };

  it.each<[string, PreparedCall, ToolResult, Partial<Turn['counts']>]>([
    ['a success', validCall({ kind: 'run' }), result('1.1'), { calls: 1 }],
    ['a failure', validCall({ kind: 'run' }), failure('tool'), { calls: 1, failed: 1 }],
    ['a denial', validCall(), failure('denied'), { calls: 1, failed: 1, requests: 1, denied: 1 }],
    ['an expiry', validCall(), failure('expired'), { calls: 1, failed: 1, requests: 1, expired: 1 }],
    ['a call that no worker took', validCall({ kind: 'run' }), failure('expired'), { calls: 1, failed: 1 }],
    ['a question without an answer', question, failure('expired'), { calls: 1, failed: 1 }],
    ['a question that was declined', question, failure('denied'), { calls: 1, failed: 1 }],
    ['an invalid call', invalid, invalid.result, { calls: 1, failed: 1 }],
    ['a call of the turn that this is a fork of', recorded, result('1.1'), {}],
  ])('are counted: %s', (_, call, ended, counts) => {
    const turn = makeTestTurn();
    appendResults(turn, [{ call, result: ended, ours: true }]);
    expect(turn.counts).toEqual({ ...none, ...counts });
  });

  it('count a call that was approved and that no worker took as a request that did not expire', () => {
    const calls = approvalsWith({});
    calls.say('decision', { callId: '1.1', decision: 'approved' });
    calls.start();
    calls.do({ type: 'settle', callId: '1.1', settlement: { result: failure('expired') } });
    const turn = { ...makeTestTurn(), approvals: calls.state };
    appendResults(turn, [{ call: calls.call().call, result: failure('expired'), ours: true }]);
    expect(turn.counts).toEqual({ ...none, calls: 1, failed: 1, requests: 1 });
  });

  it('count a call that a worker made a request of, and that a person denied', () => {
    const calls = approvalsWith({ kind: 'run', effect: 'pure' });
    const { call } = calls.call();
    calls.start();
    const settlement = { askAgain: 'the rules have changed', authority: authority(1) };
    calls.do({ type: 'settle', callId: '1.1', settlement });
    calls.say('decision', { callId: '1.1', decision: 'denied', approver: 'ann' });
    const turn = { ...makeTestTurn(), approvals: calls.state };
    appendResults(turn, [{ call, result: failure('denied'), ours: true }]);
    expect(turn.counts).toEqual({ ...none, calls: 1, failed: 1, requests: 1, denied: 1 });
  });

  it('count a call with arguments of a person as modified', () => {
    const calls = approvalsWith({});
    calls.say('decision', { callId: '1.1', decision: 'modified', arguments: { amount: 1 } });
    calls.start();
    calls.do({ type: 'settle', callId: '1.1', settlement: { result: result('1.1') } });
    const turn = { ...makeTestTurn(), approvals: calls.state };
    appendResults(turn, [{ call: calls.call().call, result: result('1.1'), ours: false }]);
    expect(turn.counts).toMatchObject({ calls: 1, modified: 1 });
  });

  const long = 'x'.repeat(4097);

  it.each<[string, { ours: boolean }, string, string | undefined]>([
    ['a short text of the workflow', { ours: true }, 'denied', 'denied'],
    ['a long text of the workflow', { ours: true }, long, undefined],
    ['a text that an activity returned', { ours: false }, 'done', undefined],
  ])(
    'go to the model by the digest of their text, and %s goes along as it has to',
    (_, more, content, text) => {
      const turn = makeTestTurn();
      appendResults(turn, [{ call: validCall(), result: result('1.1', { content }), ...more }]);
      const [sent] = turn.results;
      expect(sent?.digest).toBe(digestText(content));
      expect(sent?.text).toBe(text);
    },
  );
});

describe('the step that a fork begins with', () => {
  const given = thinkOutput([validCall()], { maxSteps: 3 });
  const fork = { of: 't', from: '1.1', world: 'dry', given } as const;

  it('is applied once', () => {
    const turn = makeTestTurn({ fork });
    expect(applySeedStep(turn)).toEqual(given);
    expect(turn.transcript.entries).toMatchObject([{ kind: 'words' }, { kind: 'reply' }]);
    expect(turn.maxSteps).toBe(3);
    expect(applySeedStep(turn)).toBeUndefined();
  });

  it('is missing in a turn that is not a fork', () => {
    const turn = makeTestTurn();
    expect(applySeedStep(turn)).toBeUndefined();
    expect(turn.transcript.entries).toMatchObject([{ kind: 'words' }]);
  });
});
