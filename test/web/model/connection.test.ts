import { standingOf } from '../../../src/web/model/connection';

const gone = { code: 'no_server', message: 'it has not answered yet', hint: 'is it up?' };
const unread = { code: 'not_ready', message: 'no search attributes' };

it.each([
  ['the desk is reached', 'live', undefined, { state: 'live', words: 'live', title: 'live' }],
  ['it is not', 'lost', undefined, { state: 'lost', words: 'connection lost, trying again' }],
  [
    'there is no server behind it',
    'live',
    gone,
    {
      ...{ state: 'lost', words: 'no Temporal server, trying again' },
      title: 'it has not answered yet; is it up?',
    },
  ],
  [
    'the server cannot be read',
    'live',
    unread,
    { state: 'lost', words: 'the inbox cannot be read', title: 'no search attributes' },
  ],
  ['neither is known', 'lost', gone, { state: 'lost', words: 'connection lost, trying again' }],
] as const)('%s', (_, connection, trouble, standing) => {
  expect(standingOf(connection, trouble)).toMatchObject(standing);
});
