import { makeFailure, makeSuccess } from '../../src/contract/result';
import type { OpenMemo } from '../../src/contract/turn';
import { answerOf, pendingAnswer, takesTasks, TASKS, taskOf } from '../../src/gateway/answers';

const head = { id: 'c', callId: '1.1', tool: 'files__read', arguments: {} };
const facts = { timestamp: '2026-01-01T00:00:00.000Z' };
const text = (words: string) => ({ type: 'text', text: words });
const image = { type: 'image', data: 'AAAA', mimeType: 'image/png' };

it.each([
  [
    'a text',
    makeSuccess(head, { content: 'hello', contentType: 'text' }, facts),
    { content: [text('hello')] },
  ],
  [
    'a failure',
    makeFailure(head, { code: 'denied', message: 'ann denied this call: no. Nothing ran.' }, facts),
    { content: [text('Error [denied]: ann denied this call: no. Nothing ran.')], isError: true },
  ],
  [
    'an image, after the note on a change',
    makeSuccess(
      head,
      {
        ...{
          content: '[ann changed it]\n\none\n[image image/png, 3 bytes, base64] AAAA\n{\n  "a": 1\n}',
          contentType: 'text',
        },
        blocks: { content: [text('one'), image], structuredContent: { a: 1 } },
      },
      facts,
    ),
    { content: [text('[ann changed it]'), text('one'), image], structuredContent: { a: 1 } },
  ],
  [
    'a short output, after the whole note in which it stands, too',
    makeSuccess(
      head,
      {
        ...{ content: '[ann changed it: 100000 → 500. Do not ask again.]\n\n500', contentType: 'text' },
        blocks: { content: [text('500')], structuredContent: 500 },
      },
      facts,
    ),
    { content: [text('[ann changed it: 100000 → 500. Do not ask again.]'), text('500')] },
  ],
  [
    'blocks that are none',
    makeSuccess(head, { content: 'one', contentType: 'text', blocks: { content: [7] } }, facts),
    { content: [text('one')] },
  ],
])('answers with %s', (_case, result, expected) => {
  expect(answerOf(result)).toEqual(expected);
});

const open = (kind: 'request' | 'question' | 'in_doubt', deadline: string | null): OpenMemo => ({
  ...{ key: 'k', count: 1 },
  items: [{ callId: '1.1', kind, tool: 't', summary: '1.1 t a=1', since: facts.timestamp, deadline }],
});

it.each([
  [undefined, 'the call is under way.'],
  [open('request', null), 'a person has to decide on 1.1 t a=1.'],
  [open('request', facts.timestamp), `a person has to decide on 1.1 t a=1, until ${facts.timestamp}.`],
  [open('question', null), 'a person has to answer 1.1 t a=1.'],
  [open('in_doubt', null), 'nobody knows yet whether 1.1 t a=1 took effect; a person has to say.'],
])('says what a call waits for', (memo, expected) => {
  expect(pendingAnswer('gateway-1', memo).content[0]?.['text']).toContain(`Pending: ${expected} `);
});

it('tells how to wait, and that the call is not to be made again', () => {
  const { content, isError } = pendingAnswer('gateway-1', open('request', null));
  expect(isError).toBeUndefined();
  expect(content[0]?.['text']).toMatch(
    /^Pending: .*countersign_wait with the id gateway-1 .*do not make the call again/,
  );
});

it('makes a task that says what it waits for only while it works', () => {
  const state = {
    id: 'gateway-1',
    createdAt: 'a',
    lastUpdatedAt: 'b',
    open: undefined,
    runs: false,
  };
  expect(taskOf({ ...state, status: 'working' })).toMatchObject({
    ...{ taskId: 'gateway-1', status: 'working', statusMessage: 'the call is under way.', ttlMs: null },
  });
  expect(taskOf({ ...state, status: 'completed' })).not.toHaveProperty('statusMessage');
});

const CAPABILITIES = 'io.modelcontextprotocol/clientCapabilities';

it.each([
  [undefined, false],
  [{}, false],
  [{ [CAPABILITIES]: { extensions: {} } }, false],
  [{ [CAPABILITIES]: { extensions: { [TASKS]: null } } }, false],
  [{ [CAPABILITIES]: { extensions: { [TASKS]: {} } } }, true],
])('%j takes tasks: %s', (envelope, expected) => {
  expect(takesTasks(envelope)).toBe(expected);
});
