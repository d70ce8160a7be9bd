import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { readStreamPlace, sendTextTo } from '../../src/client/streamed-text';
import { CountersignError } from '../../src/contract/errors';
import type { StreamedText } from '../../src/contract/streamed-text';

const TOKEN = 'the-token-of-the-stream';
const URL_NAME = 'COUNTERSIGN_STREAM_URL';
const TOKEN_NAME = 'COUNTERSIGN_STREAM_TOKEN';

describe('where text goes', () => {
  test.each<[string, Parameters<typeof readStreamPlace>, ReturnType<typeof readStreamPlace>]>([
    ['nowhere', [undefined, {}], undefined],
    ['nowhere with a token alone, as in a web inbox', [undefined, { [TOKEN_NAME]: TOKEN }], undefined],
    [
      'where the environment says',
      [undefined, { [URL_NAME]: 'http://web:7243/', [TOKEN_NAME]: TOKEN }],
      { url: 'http://web:7243', token: TOKEN },
    ],
    [
      'where the options say',
      [{ url: 'https://a.example/inbox', token: TOKEN }, { [URL_NAME]: 'http://web:7243' }],
      { url: 'https://a.example/inbox', token: TOKEN },
    ],
  ])('is %s', (_case, given, expected) => {
    expect(readStreamPlace(...given)).toEqual(expected);
  });

  test.each<[string, string, string]>([
    ['no token', 'http://web:7243', ''],
    ['a token that could be guessed', 'http://web:7243', 'hunter2'],
    ['a token that no header carries', 'http://web:7243', `${TOKEN}\n`],
    ['no address', 'web:7243', TOKEN],
    ['another scheme', 'ftp://web', TOKEN],
    ['a password in the address', `http://me:${TOKEN}@web`, TOKEN],
    ['a query', 'http://web?x=1', TOKEN],
  ])('is refused with %s, and no message has the token', (_case, url, token) => {
    let thrown: unknown;
    try {
      readStreamPlace(undefined, { [URL_NAME]: url, [TOKEN_NAME]: token });
    } catch (error) {
      thrown = error;
    }
    expect(thrown).toBeInstanceOf(CountersignError);
    expect(thrown).toMatchObject({ code: 'config_invalid' });
    if (token !== '') expect(`${String(thrown)}${JSON.stringify(thrown)}`).not.toContain(token);
  });
});

describe('sending', () => {
  let server: Server;
  let status: number;
  let body: string;
  let seen: (string | undefined)[];
  beforeAll(async () => {
    server = createServer((request, response) => {
      seen.push(request.url, request.headers.authorization);
      response.writeHead(status, { location: '/elsewhere' }).end(body);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  });
  afterAll(() => new Promise((resolve) => server.close(resolve)));
  beforeEach(() => (seen = []));
  const url = (): string => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const PIECE: StreamedText = {
    ...{ namespace: 'default', turn: 't', runId: 'r', step: 1, attempt: 1, scheduledAt: 1 },
    ...{ revision: 0, at: 0, text: 'one' },
  };
  const GAP = { turn: 't', scheduledAt: 1, revision: 0, at: 0 };

  it('gives the token, and returns what the other side lacks', async () => {
    [status, body] = [200, JSON.stringify([GAP])];
    expect(await sendTextTo({ url: url(), token: TOKEN })([PIECE])).toEqual([GAP]);
    expect(seen).toEqual(['/api/stream', `Bearer ${TOKEN}`]);
  });

  test.each<[string, number, string, RegExp]>([
    ['a refusal', 401, '{}', /answered with status 401$/],
    ['a redirect, which is not followed', 307, '', /does not answer/],
    ['a page of HTML', 200, '<html>', /JSON/],
    ['other JSON', 200, '{"ok":true}', /which text it lacks/],
  ])('fails with %s, without the token', async (_case, code, text, message) => {
    [status, body] = [code, text];
    const sending = sendTextTo({ url: url(), token: TOKEN })([PIECE]);
    await expect(sending).rejects.toThrow(message);
    await expect(sending).rejects.not.toThrow(TOKEN);
    expect(seen.filter((path) => path === '/elsewhere')).toEqual([]);
  });

  it('says what is wrong where nobody listens', async () => {
    await expect(sendTextTo({ url: 'http://127.0.0.1:1', token: TOKEN })([PIECE])).rejects.toThrow(
      'http://127.0.0.1:1 does not answer',
    );
  });
});
