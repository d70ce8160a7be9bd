import type { ObservedFact } from '../../src/activities/observed';
import { observing } from '../../src/activities/spans';
import type { SpanPlace, Traces } from '../../src/system/traces';

type PastSpan = Parameters<Traces['record']>[1];

const of = { agent: 'clerk', tool: 'pay', callId: '1.1', callKey: 'k:1.1' };
const workflow = { namespace: 'default', workflowId: 'turn-1' };

/** The spans that these facts become. */
const spansOf = (...facts: ObservedFact[]): [SpanPlace, PastSpan][] => {
  const spans: [SpanPlace, PastSpan][] = [];
  const traces: Traces = {
    hasContent: false,
    within: (_, __, work) => work({ add: () => undefined, fail: () => undefined }),
    record: (place, span) => void spans.push([place, span]),
    parentOf: () => undefined,
  };
  observing(() => undefined, traces)(workflow, ...facts);
  return spans;
};

it.each(['denied', 'expired', 'refused', 'validation'])('a call that never ran has a span: %s', (outcome) => {
  const trace = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`;
  const [found, ...others] = spansOf({ kind: 'ended', ...of, trace, outcome, at: 5 });
  expect(others).toEqual([]);
  expect(found).toMatchObject([
    { namespace: 'default', turn: 'turn-1', trace },
    {
      ...{ name: 'execute_tool pay', error: outcome, since: 5, at: 5 },
      facts: { 'countersign.outcome': outcome, 'countersign.call_key': 'k:1.1' },
    },
  ]);
});

it('a tool that a model made up gives its name to no span', () => {
  const made = { ...of, tool: 'rm_rf_1', outcome: 'tool_not_found' };
  expect(spansOf({ kind: 'ended', ...made, at: 5 })[0]?.[1].name).toBe('execute_tool');
});

it('a call that ran has its span where it ran, and none here', () => {
  expect(spansOf({ kind: 'ended', ...of, outcome: 'success', at: 5 })).toEqual([]);
  expect(spansOf({ kind: 'ended', ...of, outcome: 'timeout', at: 5 })).toEqual([]);
});

it.each([
  ['with its votes', { votes: 2 }, 2],
  ['of one person', {}, undefined],
])('a decision has a span, %s', (_, votes, expected) => {
  const [found] = spansOf({
    ...{ kind: 'waited', ...of, outcome: 'modified', isEdited: true, since: 1_000, at: 3_500 },
    ...votes,
  });
  expect(found?.[1]).toMatchObject({ name: 'decision pay', since: 1_000, at: 3_500 });
  expect(found?.[1].facts).toMatchObject({
    'countersign.outcome': 'modified',
    'countersign.edited': true,
    'countersign.wait_seconds': 2.5,
  });
  expect(found?.[1].facts['countersign.votes']).toBe(expected);
});

it('a wait over which the clock was set back took no time', () => {
  const [found] = spansOf({
    ...{ kind: 'waited', ...of, outcome: 'expired', isEdited: false, since: 3_500, at: 1_000 },
  });
  expect(found?.[1].facts['countersign.wait_seconds']).toBe(0);
});
