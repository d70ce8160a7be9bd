import { makeFailure, makeSuccess } from '../../src/contract/result';
import { createCallLog } from '../../src/tools/call-log';
import { keepLines } from './support';

const head = { id: 'a', callId: '1.1', tool: 'read_file', arguments: {} };
const facts = { timestamp: '2026-01-01T00:00:00.000Z', executionTimeMs: 150, safety: 'safe' } as const;
const success = (content: string) => makeSuccess(head, { content, contentType: 'text' }, facts);
const failure = (message: string) =>
  makeFailure(head, { code: 'tool_not_found', message }, { ...facts, executionTimeMs: 10 });

it('writes the lines of the seeds', () => {
  const logger = keepLines();
  const log = createCallLog(logger);
  log.call('read_file', 'safe', { path: '/etc/hosts' });
  log.end(success('127.0.0.1'));
  log.end(failure('Tool not found'));
  expect(logger.lines).toEqual([
    'TOOL_CALL tool=read_file args={"path":"/etc/hosts"}',
    "TOOL_SUCCESS tool=read_file duration=150ms content='127.0.0.1'",
    'TOOL_FAILED tool=read_file duration=10ms error=[tool_not_found] Tool not found',
  ]);
  expect(logger.levels).toEqual(['INFO', 'INFO', 'WARN']);
});

it.each([
  ['DEBUG', ['DEBUG', 'DEBUG', 'WARN']],
  ['ERROR', ['ERROR', 'ERROR', 'ERROR']],
] as const)('at level %s', (level, levels) => {
  const logger = keepLines();
  const log = createCallLog(logger, { level });
  log.call('x', 'safe', {});
  log.end(success(''));
  log.end(failure(''));
  expect(logger.levels).toEqual(levels);
});

it.each([
  ['safe', 0],
  ['cautious', 2],
  ['dangerous', 0],
  [null, 0],
] as const)('with calls off, a %s call has %i lines', (safety, count) => {
  const logger = keepLines();
  const log = createCallLog(logger, { calls: false });
  log.call('x', safety, {});
  log.end(makeSuccess(head, { content: '', contentType: 'text' }, { ...facts, safety }));
  expect(logger.lines).toHaveLength(count);
});

it('a warning is always written', () => {
  const logger = keepLines();
  createCallLog(logger, { calls: false }).warn('hook failed: password=hunter2\nTOOL_SUCCESS');
  expect(logger.lines).toEqual(['hook failed: password=[redacted]\\nTOOL_SUCCESS']);
});

const hostile = 'a\nb\r\tc\u001b[2Jd\u2028e\u202ef\u0085g\ud800h';

it('keeps each on one line that shows what it says', () => {
  const logger = keepLines();
  const log = createCallLog(logger);
  log.call(hostile, 'safe', { a: hostile });
  log.end(success(`${hostile}'`));
  log.end(failure(hostile));
  for (const line of logger.lines)
    expect(line).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u2028-\u202e]|\p{Surrogate}/u);
  expect(logger.lines[1]).toContain("a\\nb\\r\\tc\\u001b[2Jd\\u2028e\\u202ef\\u0085g\\ud800h\\''");
});

it('redacts arguments, content and message', () => {
  const logger = keepLines();
  const log = createCallLog(logger);
  log.call('x', 'safe', { password: 'hunter2', body: 'token=hunter2' });
  log.end(success('{"secret":"hunter2"}'));
  log.end(failure('cannot log in with password=hunter2'));
  expect(logger.lines.join()).not.toContain('hunter2');
});

it('cuts what is long', () => {
  const logger = keepLines();
  const log = createCallLog(logger);
  log.call('x', 'safe', { a: 'x'.repeat(100_000) });
  log.end(success('y'.repeat(1_000_000)));
  log.end(failure('z'.repeat(100_000)));
  for (const line of logger.lines) expect(line.length).toBeLessThan(700);
});
