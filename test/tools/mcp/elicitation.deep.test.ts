import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { CallReply } from '../../../src/contract/call';
import type { JsonObject } from '../../../src/contract/json';
import { LIMITS } from '../../../src/contract/limits';
import type { Question } from '../../../src/contract/question';
import type { McpConnection } from '../../../src/tools/mcp/connection';
import { readElicitation, toElicitAnswer } from '../../../src/tools/mcp/elicitation';
import { readAnswer } from '../../../src/tools/mcp/result';
import { scratchDirectory } from '../../support/scratch';
import { until } from '../../support/until';
import { act, connect, hostile } from './support';

const by = { server: 'printer', tool: 'print' };
const form = (properties: JsonObject, rest: JsonObject = {}): JsonObject => ({
  message: 'How many pages?',
  requestedSchema: { type: 'object', properties, ...rest },
});

describe('what a server asks', () => {
  it('says who asks, and has the fields of the form', () => {
    const params = form({ pages: { type: 'integer', minimum: 1 } }, { required: ['pages'] });
    expect(readElicitation(params, by)).toEqual({
      text: 'The MCP server "printer" asks this in a call of its tool "print". The answer goes to that server. Never give a password, a key or a code here.\n\nHow many pages?',
      form: {
        type: 'object',
        properties: { pages: { type: 'integer', minimum: 1 } },
        required: ['pages'],
        additionalProperties: false,
      },
    });
  });

  it.each([
    ['oneOf', { type: 'string', oneOf: [{ const: 'a4', title: 'A4, upright' }] }],
    ['enumNames', { type: 'string', enum: ['a4'], enumNames: ['A4, upright'] }],
  ])('shows the titles of choices, written with %s', (_how, paper) => {
    const { form: made } = readElicitation(form({ paper }), by);
    expect(made['properties']).toEqual({
      paper: { type: 'string', enum: ['a4'], description: 'a4: A4, upright' },
    });
  });

  it('makes visible what nobody could see', () => {
    const { text } = readElicitation(
      { ...form({ a: { type: 'boolean' } }), message: 'a\u202Eb\u001b[2J' },
      by,
    );
    expect(text).not.toMatch(/[\u202E\u001b]/);
  });

  it.each<[what: string, params: unknown, why: RegExp]>([
    [
      'an address',
      { mode: 'url', message: 'x', url: 'https://a.example', elicitationId: '1' },
      /mode "form"/,
    ],
    ['nothing', undefined, /not a request/],
    ['no schema', { message: 'x' }, /requestedSchema/],
    ['no field', form({}), /1 to 20 fields/],
    ['a field inside a field', form({ a: { type: 'object', properties: {} } }), /must have the type/],
    ['a list', form({ a: { type: 'array', items: { type: 'string', enum: ['b'] } } }), /must have the type/],
    ['a pattern', form({ a: { type: 'string', pattern: '(a+)+$' } }), /not supported/],
    ['a name that no form has', form({ __proto: { type: 'string' } }), /begins with a letter/],
    ['a huge form', form({ a: { type: 'boolean', title: 'x'.repeat(LIMITS.formCharacters) } }), /characters/],
    ['a long message', { ...form({ a: { type: 'boolean' } }), message: 'x'.repeat(4000) }, /too long/],
    ['a password field', form({ a: { type: 'string', format: 'password' } }), /secrets/],
    ['a field called token', form({ api_token: { type: 'string' } }), /secrets/],
    ['a title that says so', form({ a: { type: 'string', title: 'Your PIN' } }), /secrets/],
    ['a description that says so', form({ a: { type: 'string', description: 'the API key' } }), /secrets/],
    [
      'a message that says so',
      { ...form({ a: { type: 'string' } }), message: 'Enter your token' },
      /secrets/,
    ],
    ['a title in another language', form({ a: { type: 'string', title: 'Kennwort' } }), /secrets/],
    ['a name of two words', form({ cardNumber: { type: 'integer' } }), /secrets/],
    [
      'an address that could hold one',
      form({ a: { type: 'string', format: 'uri', title: 'Token' } }),
      /secrets/,
    ],
    ['a PIN as a number', form({ a: { type: 'integer', title: 'Your PIN' } }), /secrets/],
    ['a number that is called so', form({ card_cvv: { type: 'number' } }), /secrets/],
    [
      'a number that the message calls so',
      { ...form({ a: { type: 'integer' } }), message: 'Enter the OTP of your phone' },
      /secrets/,
    ],
  ])('is refused: %s', (_what, params, why) => {
    expect(() => readElicitation(params, by)).toThrow(why);
  });

  it('may speak of tokens where nobody can type one', () => {
    const params = { ...form({ tokens: { type: 'integer' } }), message: 'How many tokens may it cost?' };
    expect(readElicitation(params, by).text).toContain('tokens');
  });
});

it.each<[CallReply, unknown]>([
  [
    { answer: 'answered', content: { a: 'b', c: 2, d: true } },
    { action: 'accept', content: { a: 'b', c: 2, d: true } },
  ],
  [{ answer: 'declined' }, { action: 'decline' }],
  [{ answer: 'unanswered' }, { action: 'cancel' }],
])('%j goes back as %j', (reply, answer) => {
  expect(toElicitAnswer(reply)).toEqual(answer);
});

describe('a connection', () => {
  const scratch = scratchDirectory();
  let connection: McpConnection;
  let warnings: string[];

  beforeEach(() => {
    const server = hostile('Does as it is asked.', join(scratch(), 'effects'));
    ({ connection, warnings } = connect({ ...server, start: { ...server.start, elicitation: true } }));
  });
  afterEach(() => connection.close());

  const effects = (): string => {
    const file = join(scratch(), 'effects');
    return existsSync(file) ? readFileSync(file, 'utf8').trim() : '';
  };
  const read = (answer: unknown): unknown =>
    JSON.parse(readAnswer(answer, { server: 'hostile', tool: 'act' }));
  const asking = (params: JsonObject, ask?: (question: Question) => Promise<CallReply>): Promise<unknown> =>
    act(connection, 'ask', { with: params, ...(ask && { ask }) });

  it('takes the answer of a person to the server', async () => {
    const asked: Question[] = [];
    const answer = await asking(form({ pages: { type: 'integer' } }), (question) => {
      asked.push(question);
      return Promise.resolve({ answer: 'answered', content: { pages: 3 } });
    });
    expect(read(answer)).toEqual({ action: 'accept', content: { pages: 3 } });
    expect(asked[0]?.text).toContain('The MCP server "hostile" asks this in a call of its tool "act".');
  });

  it('asks nobody for a secret, and tells the server why', async () => {
    const ask = jest.fn<Promise<CallReply>, [Question]>();
    const answer = read(await asking({ ...form({ a: { type: 'string' } }), message: 'Your token?' }, ask));
    expect(answer).toEqual({ code: -32602, message: expect.stringContaining('under `secrets`') });
    expect(ask).not.toHaveBeenCalled();
    expect(warnings).toEqual([expect.stringContaining('nobody was asked')]);
  });

  it('says that nobody chose where nobody can be asked', async () => {
    expect(read(await asking(form({ a: { type: 'boolean' } })))).toEqual({ action: 'cancel' });
  });

  it('refuses what is asked outside of a call', async () => {
    await act(connection, 'later');
    await until('the refusal', () => effects().includes('outside of a call'));
  });

  it('has one call at a time, so that nobody answers in the name of another', async () => {
    const order: string[] = [];
    let release: (reply: CallReply) => void = () => undefined;
    const first = asking(form({ a: { type: 'boolean' } }), () => {
      order.push('asked');
      return new Promise((resolve) => (release = resolve));
    });
    const second = act(connection, 'echo', { with: 'next' }).then(() => order.push('second'));
    await until('the question', () => order.length > 0);
    order.push('answered');
    release({ answer: 'declined' });
    await Promise.all([first, second]);
    expect(order).toEqual(['asked', 'answered', 'second']);
  });

  it.each([
    ['cancels it', 'cancel', '"went on"'],
    ['ends its call', 'answer', '"went on"'],
    ['ends', 'end', 'did not answer'],
  ])('withdraws the question when the server %s, before the call is over', async (_what, then, ending) => {
    const order: string[] = [];
    const file = join(scratch(), 'go');
    const leave = { ask: form({ a: { type: 'boolean' } }), then, file };
    const ask = (_: Question, withdraw: AbortSignal): Promise<CallReply> => {
      order.push('asked');
      return new Promise((_resolve, reject) => {
        const onAbort = (): void => {
          order.push('withdrawn');
          if (then === 'cancel') writeFileSync(`${file}.end`, '');
          reject(new Error('withdrawn'));
        };
        withdraw.addEventListener('abort', onAbort, { once: true });
      });
    };
    const called = act(connection, 'leave', { with: leave, ask }).then(
      (answer) => JSON.stringify(answer),
      (error: unknown) => String(error),
    );
    await until('the question', () => order.length > 0);
    writeFileSync(file, '');
    order.push(await called);
    expect(order).toEqual(['asked', 'withdrawn', expect.stringContaining(ending)]);
    expect(warnings.filter((line) => line.includes('nobody was asked'))).toEqual([]);
  });

  it('starts the server anew after a call that was given up: what that asks is of no later call', async () => {
    const abort = new AbortController();
    const hangs = act(connection, 'hang', { signal: abort.signal });
    await until('the call', () => effects().includes('hang'));
    abort.abort();
    await expect(hangs).rejects.toThrow();
    await act(connection, 'echo', { with: 'next' });
    expect(effects().split('\n')).toEqual(expect.arrayContaining(['hang', 'echo']));
    expect(warnings).toEqual([]);
  });
});
