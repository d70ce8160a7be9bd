import { CountersignError, ERROR_CODES } from '../../src/contract/errors';
import { createTell } from '../../src/server/failure';

const tellAll = () => {
  const reported: unknown[] = [];
  return { reported, tell: createTell((error) => void reported.push(error)) };
};

it.each([
  ['usage', 400],
  ['signed_out', 401],
  ['forbidden', 403],
  ['turn_not_found', 404],
  ['too_large', 413],
  ['not_json', 415],
  ['too_many_attempts', 429],
  ['no_server', 503],
] as const)('%s is told with %i, its message and what to do', (code, status) => {
  const { tell, reported } = tellAll();
  const told = tell(new CountersignError(code, 'what happened', { hint: 'what to do', data: { secret: 1 } }));
  expect(told).toEqual({ status, body: { code, message: 'what happened', hint: 'what to do' } });
  expect(reported).toEqual([]);
});

it.each(ERROR_CODES)('%s is a failure', (code) => {
  expect(tellAll().tell(new CountersignError(code, 'x')).status).toBeGreaterThanOrEqual(400);
});

it.each([new Error('password=hunter2'), 'a text', undefined, { message: 'x' }])(
  '%p is only reported',
  (error) => {
    const { tell, reported } = tellAll();
    const { status, body } = tell(error);
    expect({ status, code: body.code }).toEqual({ status: 500, code: 'unexpected' });
    expect(JSON.stringify(body)).not.toContain('hunter2');
    expect(reported).toEqual([error]);
  },
);
