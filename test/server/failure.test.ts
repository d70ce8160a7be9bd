import { CountersignError, ERROR_CODES } from '../../src/contract/errors';
import { createErrorFormatter } from '../../src/server/failure';

const createFormatter = () => {
  const reported: unknown[] = [];
  return { reported, format: createErrorFormatter((error) => void reported.push(error)) };
};

it.each([
  ['usage', 400],
  ['signed_out', 401],
  ['sign_in_failed', 401],
  ['not_allowed', 403],
  ['not_found', 404],
  ['refused', 409],
  ['too_large', 413],
  ['too_many_attempts', 429],
  ['no_server', 503],
] as const)('%s is response with %i, its message and what to do', (code, status) => {
  const { format, reported } = createFormatter();
  const response = format(
    new CountersignError(code, 'what happened', { hint: 'what to do', data: { secret: 1 } }),
  );
  expect(response).toEqual({ status, body: { code, message: 'what happened', hint: 'what to do' } });
  expect(reported).toEqual([]);
});

it.each(ERROR_CODES)('%s is a failure', (code) => {
  expect(createFormatter().format(new CountersignError(code, 'x')).status).toBeGreaterThanOrEqual(400);
});

it.each([new Error('password=hunter2'), 'a text', undefined, { message: 'x' }])(
  '%p is only reported',
  (error) => {
    const { format, reported } = createFormatter();
    const { status, body } = format(error);
    expect({ status, code: body.code }).toEqual({ status: 500, code: 'unexpected' });
    expect(JSON.stringify(body)).not.toContain('hunter2');
    expect(reported).toEqual([error]);
  },
);
