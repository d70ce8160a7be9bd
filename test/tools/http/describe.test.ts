import { describeAnswer } from '../../../src/tools/http/describe';
import type { FollowedAnswer } from '../../../src/tools/http/follow';

const followed = (
  body: FollowedAnswer['answer']['body'],
  type?: string,
  more: Partial<FollowedAnswer> = {},
): FollowedAnswer => ({
  url: new URL('https://a.example/x'),
  redirects: 0,
  answer: {
    status: 200,
    statusText: 'OK',
    headers: type === undefined ? [] : [['content-type', type]],
    body,
  },
  ...more,
});

it.each<[string, FollowedAnswer, string]>([
  ['text', followed(Buffer.from('größe')), '200 OK\n\ngröße'],
  ['JSON', followed(Buffer.from('{}'), 'application/json'), '200 OK\ncontent-type: application/json\n\n{}'],
  [
    'another charset',
    followed(Buffer.from('größe', 'latin1'), 'text/plain; charset=ISO-8859-1'),
    '200 OK\ncontent-type: text/plain; charset=ISO-8859-1\n\ngröße',
  ],
  ['no body', followed(Buffer.alloc(0)), '200 OK'],
  ['bytes', followed(Buffer.from([255, 0, 254])), '200 OK\n\n[binary, 3 bytes, base64] /wD+'],
  ['a NUL', followed(Buffer.from('a\0')), '200 OK\n\n[binary, 2 bytes, base64] YQA='],
  [
    'a charset that nobody knows',
    followed(Buffer.from('a'), 'text/plain; charset=klingon'),
    '200 OK\ncontent-type: text/plain; charset=klingon\n\n[binary, 1 bytes, base64] YQ==',
  ],
  ['a body that is left out', followed({ missing: 'too long' }), '200 OK\n[No body: too long.]'],
  [
    'redirects',
    followed(Buffer.from('a'), undefined, { redirects: 2, note: 'no' }),
    '200 OK\n[From https://a.example/x after 2 redirects.]\n[The redirect was not followed: no.]\n\na',
  ],
])('of %s', (_, given, expected) => {
  expect(describeAnswer(given)).toBe(expected);
});

it('holds no cookie', () => {
  const given = followed(Buffer.from('a'));
  const headers = [['set-cookie', 'session=1'] as const, ['etag', '"1"'] as const];
  expect(describeAnswer({ ...given, answer: { ...given.answer, headers } })).toBe('200 OK\netag: "1"\n\na');
});
