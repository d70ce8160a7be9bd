import type { CallProgress } from '../../src/contract/call';
import type { Json } from '../../src/contract/json';
import { REDACTED } from '../../src/contract/text/redact';
import { createCallLog } from '../../src/tools/call-log';
import { type Live, makeContext } from '../../src/tools/context';
import { createSecrets } from '../../src/tools/secrets';

const SECRET = 'a-long-secret-value';
const { signal } = new AbortController();

const given = async () => {
  const lines: string[] = [];
  const log = createCallLog({ log: (level, message) => void lines.push(`${level} ${message}`) });
  const progress: CallProgress[] = [];
  const checkpoints: Json[] = [];
  const live: Live = {
    progress: (one) => void progress.push(one),
    checkpoint: (one) => void checkpoints.push(one),
  };
  const secrets = createSecrets(() => SECRET);
  const context = makeContext({ callId: '2.1', tool: 'pay' }, { secrets, log }, { signal, live });
  await context.secrets.get('key');
  return { context, lines, progress, checkpoints };
};

it('has something in every field, without a turn too', () => {
  const context = makeContext({ callId: '1.1', tool: 'pay' }, {}, { signal });
  expect(context).toMatchObject({ agent: '', attempt: 1, idempotencyKey: '', metadata: {} });
  context.progress(1);
  context.checkpoint({});
  context.partial('x');
  context.log.info('nobody reads this');
});

it.each<[unknown, unknown, CallProgress]>([
  ['page 4 of 10', undefined, { text: 'page 4 of 10' }],
  [0.4, undefined, { fraction: 0.4 }],
  [0.4, 'page 4', { fraction: 0.4, text: 'page 4' }],
  [7, undefined, { fraction: 1 }],
  [-1, 'before', { text: 'before' }],
  [NaN, 'nothing', { text: 'nothing' }],
  [`with ${SECRET}`, undefined, { text: `with ${REDACTED}` }],
  [0.5, { page: 1 }, { fraction: 0.5, text: '{\n  "page": 1\n}' }],
])('progress(%p, %p)', async (part, text, expected) => {
  const { context, progress } = await given();
  Reflect.apply(context.progress, undefined, [part, text]);
  expect(progress).toEqual([expected]);
});

it('cuts a long progress after its secrets are gone', async () => {
  const { context, progress } = await given();
  for (let before = 230; before < 260; before++)
    context.progress(`${'x'.repeat(before)}${SECRET}${'y'.repeat(900)}`);
  for (const { text = '' } of progress) {
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(500);
    expect(text).not.toMatch(/a-long|value/);
  }
});

it('keeps a checkpoint without secrets, and refuses what it cannot keep', async () => {
  const { context, checkpoints } = await given();
  context.checkpoint({ at: 3, by: [SECRET] });
  expect(checkpoints).toEqual([{ at: 3, by: [REDACTED] }]);
  for (const wrong of [undefined, () => 1, 1n, new Date(), { [SECRET]: 1 }, 'x'.repeat(65 * 1024)])
    expect(() => Reflect.apply(context.checkpoint, undefined, [wrong])).toThrow(TypeError);
  expect(() => context.checkpoint(JSON.parse('{"__proto__":1}'))).toThrow(TypeError);
});

it('logs one line without secrets and control characters', async () => {
  const { context, lines } = await given();
  context.log.warn(`sent ${SECRET}\nTOOL_SUCCESS`, { password: 'hunter2', url: `/?k=${SECRET}`, n: 1n });
  expect(lines).toEqual([
    expect.stringMatching(/^WARN TOOL_LOG tool=pay call=2\.1 sent \[redacted\]\\nTOOL_SUCCESS /),
  ]);
  expect(lines.join()).not.toMatch(/hunter2|a-long-secret/);
});
