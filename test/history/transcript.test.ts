import { cutContent, DROPPED_OUTPUT } from '../../src/contract/transcript';
import type { TurnEvent } from '../../src/history/events';
import { turnEventsOfJson } from '../../src/history/exported';
import { transcriptOf } from '../../src/history/transcript';
import { exported } from './exports';
import { ask, result, run, Script } from './script';

const kinds = (events: readonly TurnEvent[]) =>
  transcriptOf(events).entries.map((entry) => (entry.kind === 'result' ? entry.callId : entry.kind));

const twoCalls = () =>
  new Script()
    .started('do it')
    .task()
    .think(1, [run('1.1'), run('1.2')]);

test('results are messages when their step is over, in the order of the model', () => {
  const script = twoCalls();
  const [first, second] = [script.call(run('1.1')), script.call(run('1.2'))];
  script.done(second, { result: result('1.2', { content: 'two' }) });
  script.done(first, { result: result('1.1', { content: 'one' }) });
  expect(kinds(script.fold())).toEqual(['words', 'reply']);
  script.task().thinkScheduled(2);
  expect(transcriptOf(script.fold())).toMatchObject({
    entries: [
      { kind: 'words', text: 'do it' },
      { kind: 'reply', replyId: 'r', text: 'let me', calls: [{ callId: '1.1' }, { callId: '1.2' }] },
      { kind: 'result', callId: '1.1', tool: 'look', content: 'one', success: true },
      { kind: 'result', callId: '1.2', content: 'two' },
    ],
    known: 4,
  });
});

test('what the model knew is what it was last asked with', () => {
  const { entries, known } = transcriptOf(twoCalls().fold());
  expect(entries.slice(0, known)).toEqual([{ kind: 'words', text: 'do it' }]);
  expect(entries.slice(known).map(({ kind }) => kind)).toEqual(['reply']);
});

test('the reply has what the model wrote, not what defaults added', () => {
  const call = run('1.1', { arguments: { n: 1, deep: true }, proposed: { n: 1 } });
  const remote = {
    kind: 'remote' as const,
    callId: '1.2',
    id: 'i',
    tool: 'far',
    taskQueue: 'q',
    raw: '{"a"',
  };
  const { entries } = transcriptOf(new Script().started().task().think(1, [call, remote]).fold());
  expect(entries[1]).toMatchObject({
    calls: [
      { callId: '1.1', arguments: { n: 1 } },
      { callId: '1.2', arguments: {}, raw: '{"a"' },
    ],
  });
});

test('outputs that were dropped are gone from what the model knew', () => {
  const script = new Script()
    .started()
    .task()
    .think(1, [run('1.1')]);
  script.done(script.call(run('1.1')), { result: result('1.1', { content: 'long' }) });
  script.task().thinkScheduled(2, { droppedBefore: 3 });
  expect(transcriptOf(script.fold()).entries[2]).toMatchObject({ content: DROPPED_OUTPUT });
});

test('outputs that were cut to fit their step are cut in what the model knew, and whole in the events', () => {
  const content = `long ${'x'.repeat(5000)} end`;
  const script = new Script()
    .started()
    .task()
    .think(1, [run('1.1'), run('1.2')]);
  script.done(script.call(run('1.1')), { result: result('1.1', { content }) });
  script.done(script.call(run('1.2')), { result: result('1.2', { content: 'short' }) });
  script.task().thinkScheduled(2, { cutTo: 1000 });
  const entries = transcriptOf(script.fold()).entries.slice(2);
  expect(entries).toMatchObject([{ content: cutContent(content, 1000) }, { content: 'short' }]);
  expect(script.told('call_ended')[0]?.result.content).toBe(content);
  script.think(2, [run('2.1')], { cutTo: 1000 });
  script.done(script.call(run('2.1')), { result: result('2.1', { content }) });
  script.task().thinkScheduled(3);
  expect(transcriptOf(script.fold()).entries.at(-1)).toMatchObject({ content });
});

test('what a reset took back is not a message', () => {
  const script = new Script()
    .started()
    .task()
    .think(1, [ask('1.1')]);
  const events = script.fold();
  const at = '2026-01-01T01:00:00.000Z';
  const reset: TurnEvent = { type: 'reset', eventId: 4, at, baseRunId: 'r', newRunId: 'r2', reason: '' };
  expect(kinds([...events, reset])).toEqual(['words']);
});

test('the messages at the end of a run are the first of those that later runs took along', async () => {
  const before = await turnEventsOfJson(exported('continuing'));
  const [next] = await turnEventsOfJson(exported('continued'));
  const carried = next?.type === 'turn_started' ? next.carried : undefined;
  const { entries } = transcriptOf(before);
  expect(entries.length).toBeGreaterThan(5);
  expect(entries).toEqual(carried?.slice(0, entries.length));
});

test('the last run of a chain alone tells the same messages as the whole chain', async () => {
  const runs = [exported('continuing'), exported('continued')];
  const whole = transcriptOf(await turnEventsOfJson({ countersign: 1, runs }));
  const last = transcriptOf(await turnEventsOfJson(runs[1]));
  expect(last).toEqual(whole);
  expect(whole.entries.at(-1)).toMatchObject({ kind: 'reply', text: 'done' });
});
