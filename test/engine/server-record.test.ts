import { tmpdir } from 'node:os';
import { fullDisk, toDiskError } from '../../src/engine/server-record';

it.each([
  ['ENOSPC', 'the disk is full'],
  ['EDQUOT', 'your quota is used up'],
  ['EROFS', 'nothing can be written there'],
  ['EACCES', 'you may not do that there'],
])('tells %s in words and what to do', (code, reason) => {
  const cause = Object.assign(new Error(`${code}: no`), { code });
  expect(toDiskError(cause, '/data')).toMatchObject({
    code: 'server_failed',
    message: `the server's data cannot be kept in /data: ${reason}`,
    hint: expect.stringContaining('--data-dir'),
    data: { directory: '/data' },
    cause,
  });
});

it.each([
  new Error('something else'),
  Object.assign(new Error('x'), { code: 'ECONNRESET' }),
  'text',
  undefined,
])('leaves %p as it is', (error) => {
  expect(toDiskError(error, '/data')).toBe(error);
});

it('finds no fault with a disk that has room', () => {
  expect(fullDisk(tmpdir())).toBeUndefined();
});
