import fc from 'fast-check';
import { isToolError, isTransportError } from '../../../src/tools/errors';
import { failureOfCall, keepAnswer, readAnswer } from '../../../src/tools/mcp/result';

const called = { server: 'files', tool: 'read' };
const text = (words: string): object => ({ type: 'text', text: words });

it.each([
  ['texts', { content: [text('a'), text('b')] }, 'a\nb'],
  ['nothing', { content: [] }, ''],
  ['no content', {}, ''],
  ['structured content', { content: [], structuredContent: { a: 1 } }, '{\n  "a": 1\n}'],
  [
    'structured content that a text repeats',
    { content: [text('{"a":1}')], structuredContent: { a: 1 } },
    '{"a":1}',
  ],
  ['structured content beside a text', { content: [text('one')], structuredContent: [1] }, 'one\n[\n  1\n]'],
  [
    'a short image',
    { content: [{ type: 'image', data: 'AAAA', mimeType: 'image/png' }] },
    '[image image/png, 3 bytes, base64] AAAA',
  ],
  [
    'a long sound',
    { content: [{ type: 'audio', data: 'A'.repeat(8000), mimeType: 'audio/wav' }] },
    expect.stringMatching(/^\[audio audio\/wav, 6000 bytes, SHA-256 [0-9a-f]{64}\]$/),
  ],
  [
    'a resource of text',
    { content: [{ type: 'resource', resource: { uri: 'file:///a', mimeType: 'text/plain', text: 'in' } }] },
    '[resource file:///a, text/plain]\nin',
  ],
  [
    'a binary resource',
    { content: [{ type: 'resource', resource: { uri: 'file:///a', blob: 'AAAA' } }] },
    '[resource file:///a, 3 bytes, base64] AAAA',
  ],
  [
    'a link, which nobody follows',
    { content: [{ type: 'resource_link', uri: 'http://127.0.0.1', name: 'n' }] },
    '[resource http://127.0.0.1 (n)]',
  ],
  [
    'a kind that nobody knows',
    { content: [{ type: 'smell', of: 'roses' }] },
    expect.stringContaining('roses'),
  ],
])('reads %s', (_case, answer, expected) => {
  expect(readAnswer(answer, called)).toEqual(expected);
});

it('takes the error of a tool for what the tool says', () => {
  const read = (): unknown =>
    readAnswer({ content: [text('no paper')], structuredContent: { tray: 2 }, isError: true }, called);
  expect(read).toThrow(
    expect.objectContaining({
      name: 'ToolError',
      message: 'no paper',
      details: { server: 'files', tool: 'read', structured: { tray: 2 } },
    }),
  );
});

it('leaves it open what an answer means that cannot be understood', () => {
  fc.assert(
    fc.property(fc.anything(), (answer) => {
      try {
        return typeof readAnswer(answer, called) === 'string';
      } catch (error) {
        return isToolError(error) || (isTransportError(error) && !error.nothingSent);
      }
    }),
  );
});

/** JSON that no recursive function of ours can walk through. */
const deep = (): unknown => JSON.parse(`${'['.repeat(20_000)}${']'.repeat(20_000)}`);
const noText = { toString: 1, valueOf: 1 };

it.each<[string, object]>([
  ['structured content that is too deep', { content: [text('paid')], structuredContent: deep() }],
  ['a part that is too deep', { content: [{ type: 'smell', of: deep() }] }],
  ['an image of a kind that is no text', { content: [{ type: 'image', data: 'AAAA', mimeType: noText }] }],
  ['a sound of a kind that is no text', { content: [{ type: 'audio', data: 'AAAA', mimeType: noText }] }],
  ['a resource whose address is no text', { content: [{ type: 'resource', resource: { uri: noText } }] }],
])('leaves a call in doubt whose answer has %s', (_case, answer) => {
  expect(() => readAnswer(answer, called)).toThrow(
    expect.objectContaining({ name: 'TransportError', nothingSent: false }),
  );
});

const coded = (fields: object): Error => Object.assign(new Error('it failed'), fields);

it.each([
  ['a request that cannot be read', coded({ code: -32700 }), true],
  ['no such method', coded({ code: -32601 }), true],
  ['wrong parameters', coded({ code: -32602 }), true],
  ['an inner error', coded({ code: -32603 }), false],
  ['an error of its own', coded({ code: 42 }), false],
  ['HTTP 401', coded({ code: 'CLIENT_HTTP_AUTHENTICATION', data: { status: 401 } }), true],
  ['HTTP 404', coded({ code: 'X', data: { status: 404 } }), true],
  ['HTTP 408', coded({ code: 'X', data: { status: 408 } }), false],
  ['HTTP 500', coded({ code: 'X', data: { status: 500 } }), false],
  ['a status that a server made up', coded({ code: 42, data: { status: 404 } }), false],
  ['a connection that broke', coded({ code: 'CONNECTION_CLOSED' }), false],
  ['something thrown', 'x', false],
])('%s: whether it proves that nothing was called is %3$s', (_case, error, nothingSent) => {
  expect(failureOfCall(error, 'files')).toMatchObject({ nothingSent, retryable: !nothingSent });
});

const image = { type: 'image', data: 'AAAA', mimeType: 'image/png' };

it.each([
  ['a text alone', { content: [text('one')] }, 'shown'],
  ['no answer', 7, 'shown'],
  ['over 1 MiB', { content: [{ ...image, data: 'A'.repeat(1024 * 1024) }] }, 'shown'],
  [
    'an image',
    { content: [text('one'), image] },
    { content: 'shown', contentType: 'text', blocks: { content: [text('one'), image] } },
  ],
  [
    'structured content',
    { content: [text('one')], structuredContent: { a: 1 } },
    {
      ...{ content: 'shown', contentType: 'text' },
      blocks: { content: [text('one')], structuredContent: { a: 1 } },
    },
  ],
])('keeps what a client would miss in the text of %s', (_case, answer, expected) => {
  expect(keepAnswer(answer, 'shown')).toEqual(expected);
});
