import fc from 'fast-check';
import {
  kindOfResult,
  makeFailure,
  makeSuccess,
  outputOf,
  TOOL_ERROR_CODES,
  validationFailure,
  withoutState,
} from '../../src/contract/result';

const head = { id: 'abc', callId: '1.1', tool: 'echo', arguments: { a: 1 } };
const facts = { timestamp: '2026-01-01T00:00:00.000Z' };

it('a success has content and no error', () => {
  expect(
    makeSuccess(head, { content: 'x', contentType: 'text' }, { ...facts, executionTimeMs: 3, attempt: 2 }),
  ).toEqual({
    ...head,
    server: 'local',
    success: true,
    content: 'x',
    contentType: 'text',
    metadata: {
      execution_time_ms: 3,
      safety_level: null,
      approved: false,
      attempt: 2,
      timestamp: facts.timestamp,
    },
  });
});

it('a failure tells the model code, message and partial output', () => {
  const result = makeFailure(
    { ...head, server: 'mcp' },
    { code: 'timeout', message: 'too slow' },
    { ...facts, partial: 'abc' },
  );
  expect(result).toMatchObject({ success: false, server: 'mcp', error: { code: 'timeout' } });
  expect(result.content).toBe('Error [timeout]: too slow\nPartial output:\nabc');
});

it.each([
  ['a success', makeSuccess(head, { content: 'paid', contentType: 'text' }, facts), 'done', 'paid'],
  ['a failure', makeFailure(head, { code: 'denied', message: 'no' }, facts), 'denied', ''],
  [
    'a failure with partial output',
    makeFailure(head, { code: 'timeout', message: 'slow' }, { ...facts, partial: 'abc' }),
    'timeout',
    'Partial output:\nabc',
  ],
])('the output of %s comes without the note and the failure', (_, result, kind, output) => {
  const note = '[ann changed the arguments]';
  expect(kindOfResult(result)).toBe(kind);
  expect(outputOf(result)).toBe(output);
  expect(outputOf({ ...result, content: `${note}\n\n${result.content}` }, note)).toBe(output);
  expect(outputOf({ ...result, content: `[mine]\n\n${output}` }, note)).toBe(`[mine]\n\n${output}`);
});

it.each([
  ['a success', makeSuccess(head, { content: 'two', contentType: 'text' }, facts), 'two'],
  ['a failure', makeFailure(head, { code: 'tool', message: 'no' }, facts), ''],
])('the output of %s without its state begins with that', (_, result, output) => {
  const note = '[ann changed the arguments]';
  const { content, ...rest } = withoutState(result);
  expect(content).toBe(content.slice(0, -result.content.length) + result.content);
  const lost = outputOf({ ...rest, content });
  expect(lost).toMatch(/^\[The state that earlier calls had made is lost\. .*\]/);
  expect(lost.endsWith(`]\n\n${output}`)).toBe(true);
  expect(outputOf({ ...rest, content: `${note}\n\n${content}` }, note)).toBe(lost);
});

it('only what belongs to a result gets into it', () => {
  const wide = { ...head, callKey: 'k', decision: 'approved' };
  expect(makeFailure(wide, { code: 'tool', message: '' }, facts)).not.toHaveProperty('callKey');
});

it('success and error exclude each other, and ids stay', () => {
  const failure = fc.record({ code: fc.constantFrom(...TOOL_ERROR_CODES), message: fc.string() });
  fc.assert(
    fc.property(fc.string(), failure, fc.string(), (id, error, content) => {
      const bad = makeFailure({ ...head, id }, error, facts);
      const good = makeSuccess({ ...head, id }, { content, contentType: 'text' }, facts);
      expect([bad.id, good.id]).toEqual([id, id]);
      expect([bad.success, bad.error !== undefined]).toEqual([false, true]);
      expect([good.success, 'error' in good]).toEqual([true, false]);
      expect([typeof bad.content, typeof good.content]).toEqual(['string', 'string']);
    }),
  );
});

describe('validationFailure', () => {
  it('names path and message of each issue', () => {
    const failure = validationFailure([
      { path: '', message: 'is no object' },
      { path: '/a', message: 'is missing' },
    ]);
    expect(failure.message).toBe(
      'The arguments do not fit the tool: (arguments): is no object; /a: is missing',
    );
    expect(failure.details).toHaveLength(2);
  });

  it('stays short however much is wrong', () => {
    const issues = Array.from({ length: 1000 }, () => ({
      path: '/a'.repeat(1000),
      message: 'x'.repeat(10_000),
    }));
    const failure = validationFailure(issues);
    expect(failure.message).toMatch(/and 980 more$/);
    expect(JSON.stringify(failure).length).toBeLessThan(50_000);
  });
});
