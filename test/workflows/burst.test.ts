import { coresdk } from '@temporalio/proto';
import { z } from 'zod';
import type { BurstInput, BurstOutput } from '../../src/contract/burst/burst';
import { digestText } from '../../src/contract/digest';
import { agentTurn } from '../../src/workflows/agent-turn';
import { result, thinkOutput } from '../history/script';
import { validCall } from '../support/calls';
import { endWorkflow, type Job, jobs, lines, valueIn, WorkflowUnderTest } from '../support/workflow';

afterEach(endWorkflow);

const gate = { commitMs: 1000 };
const pure = (callId: string) => validCall({ callId, kind: 'run', effect: 'pure' });
const reply = (step: number, more: object = {}) =>
  thinkOutput([pure(`${step}.1`)], { replyId: `r${step}`, gate, ...more });
const answer = thinkOutput([], { replyId: 'last', text: 'paid', gate });
const call = (callId: string) => ({
  ...{ callId, started: 20, ended: 50, attempts: 1 },
  output: { result: result(callId), contentDigest: `digest of ${callId}` },
});
const taken = (step: number, more: object = {}) => ({
  ...{ reply: reply(step, more), asked: 0, replied: 20, calls: [call(`${step}.1`)] },
});
const open = (of = answer) => ({ reply: of, asked: 60, replied: 70 });

/** A turn whose first step is over; its burst is scheduled as activity 3. */
async function begun(first: object = {}) {
  const { workflow } = await WorkflowUnderTest.start(agentTurn, { args: [{ agent: 'clerk', prompt: 'go' }] });
  expect(lines(await workflow.task([jobs.completed(1, reply(1, first))]))).toEqual(['schedule call-1.1-0']);
  const commands = await workflow.task([jobs.completed(2, call('1.1').output)]);
  expect(lines(commands)).toEqual(['schedule burst-2']);
  return { workflow, input: valueIn(commands[0]?.scheduleActivity?.arguments?.[0]) as BurstInput };
}

const returns = (output: unknown, seq = 3): Job => jobs.completed(seq, output);

test('the input of a burst is that of think, with all that ends it', async () => {
  const { input } = await begun({ budget: { steps: 9 } });
  expect(input).toMatchObject({
    ...{ step: 2, after: { replyId: 'r1', count: 2 }, words: [], results: [{ callId: '1.1' }] },
    burst: { commitMs: 1000, limits: [{}, { budget: { steps: 9 }, spent: { steps: 1 } }] },
  });
  expect(input.burst.size).toBeGreaterThan(100);
});

test.each<[string, BurstOutput, string[]]>([
  [
    'an answer ends the turn',
    { steps: [taken(2), taken(3), open()], ms: 80 },
    ['search attributes', 'completeWorkflowExecution'],
  ],
  [
    'finished steps are followed by the next burst',
    { steps: [taken(2), taken(3)], ms: 60 },
    ['schedule burst-4'],
  ],
  [
    'the turn runs the calls of an open reply',
    { steps: [taken(2), open(reply(3))], ms: 80 },
    ['schedule call-3.1-0'],
  ],
  [
    'after a failure of the model it waits as long as that says',
    { steps: [taken(2)], ms: 60, failed: { message: 'busy', waitMs: 5_000 } },
    ['start timer 1'],
  ],
  [
    'the last step that the agent may take ends the turn',
    { steps: [taken(2, { maxSteps: 2 })], ms: 60 },
    ['search attributes', 'completeWorkflowExecution'],
  ],
  [
    'an agent that takes single steps by now does so from here on',
    { steps: [taken(2, { gate: undefined })], ms: 60 },
    ['schedule think-3'],
  ],
])('after a burst: %s', async (_, output, expected) => {
  const { workflow } = await begun();
  expect(lines(await workflow.task([returns(output)]))).toEqual(expected);
});

test('its steps are counted as if each had been taken by itself', async () => {
  const { workflow } = await begun();
  const commands = await workflow.task([returns({ steps: [taken(2), taken(3), open()], ms: 80 })]);
  const ended = commands.find((command) => command.completeWorkflowExecution)?.completeWorkflowExecution;
  expect(valueIn(ended?.result)).toMatchObject({
    ...{ status: 'answered', answer: 'paid', steps: 4, counts: { calls: 3, failed: 0 } },
    // Twice 20 ms for a reply and 30 ms for a call, and 10 ms for the answer.
    spent: { steps: 4, time: 110 },
  });
});

test.each([
  ['one step', [taken(2)], '2.1'],
  ['three steps, of which it is given the last results', [taken(2), taken(3), taken(4)], '4.1'],
])(
  'the model reads the texts that are in history, whatever their digests say: %s',
  async (_, steps, callId) => {
    const { workflow } = await begun();
    const [command] = await workflow.task([returns({ steps, ms: 200 })]);
    const { results } = z
      .object({ results: z.array(z.unknown()) })
      .parse(valueIn(command?.scheduleActivity?.arguments?.[0]));
    expect(results).toEqual([{ callId, digest: digestText('done'), success: true }]);
  },
);

test('a burst that returns what nobody can read is scheduled again, twice', async () => {
  const { workflow } = await begun();
  expect(lines(await workflow.task([returns('done', 3)]))).toEqual(['schedule burst-2-again-1']);
  expect(lines(await workflow.task([returns({ steps: [] }, 4)]))).toEqual(['schedule burst-2-again-2']);
  expect(lines(await workflow.task([returns('paid', 5)]))).toEqual([
    'search attributes',
    'failWorkflowExecution',
  ]);
});

const started = (input: object = {}) =>
  WorkflowUnderTest.start(agentTurn, { args: [{ agent: 'clerk', prompt: 'go', ...input }] });

describe('the first think of a turn', () => {
  test.each<[string, object, object]>([
    ['has little more in its input', {}, {}],
    [
      'has the budget of the turn',
      { budget: { tokens: 9 } },
      { limits: [{}, { budget: { tokens: 9 }, sets: 'budget' }] },
    ],
    [
      'has the budget of its parent',
      { cap: { steps: 2 } },
      { limits: [{ budget: { steps: 2 } }, { sets: 'budget' }] },
    ],
  ])('%s', async (_, more, expected) => {
    const { commands } = await started(more);
    expect(lines(commands)).toEqual(['schedule think-1']);
    const input = valueIn(commands[0]?.scheduleActivity?.arguments?.[0]) as BurstInput;
    const { size, originalRunId, ...rest } = input.burst;
    expect(size).toBeGreaterThan(10);
    expect(originalRunId).toMatch(/./);
    expect(Object.keys(rest)).toEqual(Object.keys(expected));
    expect(rest).toMatchObject(expected);
  });

  test.each<[string, BurstOutput, string[]]>([
    [
      'an answer after a call is all that the turn schedules',
      { steps: [taken(1), open()], ms: 80 },
      ['search attributes', 'completeWorkflowExecution'],
    ],
    ['finished steps are followed by a burst', { steps: [taken(1), taken(2)], ms: 60 }, ['schedule burst-3']],
    [
      'the turn runs the calls of an open reply',
      { steps: [taken(1), open(reply(2))], ms: 80 },
      ['schedule call-2.1-0'],
    ],
    [
      'after a failure of the model it waits as long as that says',
      { steps: [taken(1)], ms: 60, failed: { message: 'busy', waitMs: 5_000 } },
      ['start timer 1'],
    ],
  ])('may answer as a burst: %s', async (_, output, expected) => {
    const { workflow } = await started();
    expect(lines(await workflow.task([returns(output, 1)]))).toEqual(expected);
  });

  test.each([
    [
      'a call with an effect',
      {
        ...taken(1),
        reply: thinkOutput([validCall({ callId: '1.1', kind: 'run', effect: 'unsafe' })], { gate }),
      },
    ],
    ['no step', undefined],
  ])('is asked again where its burst is wrong: %s', async (_, step) => {
    const { workflow } = await started();
    const output = { steps: step === undefined ? [] : [step], ms: 60 };
    expect(lines(await workflow.task([returns(output, 1)]))).toEqual(['schedule think-1-again-1']);
  });

  test('is not waited for in a cancelled turn, as without bursts', async () => {
    const { commands } = await started();
    const { TRY_CANCEL } = coresdk.workflow_commands.ActivityCancellationType;
    expect(commands[0]?.scheduleActivity?.cancellationType).toBe(TRY_CANCEL);
  });
});

test('a cancelled turn waits for its burst, and ends as cancelled', async () => {
  const { workflow } = await begun();
  expect(lines(await workflow.task([jobs.cancel()]))).toEqual(['cancel activity 3']);
  const output = { steps: [taken(2), open()], ms: 80 };
  expect(lines(await workflow.task([returns(output)]))).toEqual([
    'search attributes',
    'cancelWorkflowExecution',
  ]);
});
