import { readClick, whyForeign } from '../../src/notify/slack-clicks';
import { type Post, postKey } from '../../src/notify/slack-posts';
import { reasonView } from '../../src/notify/slack-text';
import { AT, NOW } from '../cli/support';
import { APP, TEAM, submitOf, type View } from './slack-server';
import { notice } from './support';

const key = postKey(notice('a'), 'C1');
const post: Post = {
  ...{ notice: notice('a'), target: 'C1', at: NOW, asked: AT, seen: { digest: 'd1', callKey: 'k' } },
  place: { channel: 'C1', ts: '1.1', app: APP },
};
const value = (of: object = {}): string => JSON.stringify({ callId: '1.1', digest: 'd1', key, ...of });
const press = (extra: object = {}, action: object = {}): object => ({
  ...{ type: 'block_actions', team: { id: TEAM }, user: { id: 'U1', team_id: TEAM }, api_app_id: APP },
  ...{ trigger_id: 't', container: { channel_id: 'C1', message_ts: '1.1' } },
  actions: [{ action_id: 'countersign_approve', action_ts: '5.5', value: value(), ...action }],
  ...extra,
});
const judge = (body: unknown, about: Post | undefined = post): string | undefined => {
  const click = readClick(body);
  if (click === undefined) throw new Error('it is not read');
  return whyForeign(click, TEAM, about);
};

it('reads what somebody clicked', () => {
  expect(readClick(press())).toMatchObject({
    ...{ does: 'approve', user: 'U1', team: TEAM, app: APP, key, trigger: 't' },
    button: { channel: 'C1', ts: '1.1', callId: '1.1', digest: 'd1' },
  });
  expect(readClick(press({}, { action_id: 'countersign_deny' }))?.does).toBe('ask');
  expect(judge(press())).toBeUndefined();
});

it('reads why somebody denies', () => {
  const { callback_id = '', private_metadata = '' } = reasonView(key, notice('a'));
  const view: Pick<View, 'callback_id' | 'private_metadata'> = { callback_id, private_metadata };
  const click = readClick(submitOf(view, 'too much', 'U1'));
  expect(click).toMatchObject({ does: 'deny', key, reason: 'too much', user: 'U1' });
  expect(judge(submitOf(view, 'no', 'U1'))).toBeUndefined();
  expect(readClick(submitOf(view, 'no', 'U1', 'Pay 5'))).toMatchObject({ suggestion: 'Pay 5' });
});

it('gives the same click the same id, and no other', () => {
  const ids = [press(), press(), press({ user: { id: 'U2' } }), press({}, { action_ts: '5.6' })];
  expect(new Set(ids.map((one) => readClick(one)?.id)).size).toBe(3);
});

it.each<[string, unknown]>([
  ['nothing', undefined],
  ['text', 'approve'],
  ['a link', press({}, { action_id: 'countersign_open' })],
  ['a button of another app', press({}, { action_id: 'approve' })],
  ['a button without a value', press({}, { value: undefined })],
  ['a value that is no JSON', press({}, { value: 'yes' })],
  ['a value with more in it', press({}, { value: value({ approver: 'ann' }) })],
  ['two actions', press({ actions: [1, 2] })],
  ['another window', { ...submitOf({ callback_id: 'x', private_metadata: key }, 'no', 'U1') }],
  ['no team', press({ team: null })],
])('decides nothing by %s', (_name, body) => {
  expect(readClick(body)).toBeUndefined();
});

it.each<[string, unknown, RegExp]>([
  ['another workspace', press({ team: { id: 'T2' } }), /another workspace/],
  ['a guest from another workspace', press({ user: { id: 'U1', team_id: 'T2' } }), /another workspace/],
  ['another app', press({ api_app_id: 'A2' }), /another app/],
  ['another channel', press({ container: { channel_id: 'C2', message_ts: '1.1' } }), /another message/],
  ['another message', press({ container: { channel_id: 'C1', message_ts: '1.2' } }), /another message/],
  ['another call', press({}, { value: value({ callId: '1.2' }) }), /another request/],
  ['other arguments', press({}, { value: value({ digest: 'd2' }) }), /another request/],
])('refuses what is forged: %s', (_name, body, why) => {
  expect(judge(body)).toMatch(why);
});

it('refuses a click on a message that is not known, or had no button', () => {
  const { place: _, ...unplaced } = post;
  const { seen: __, ...bare } = post;
  expect(whyForeign(readClick(press()) ?? fail(), TEAM, undefined)).toMatch(/no message is known/);
  expect(judge(press(), unplaced)).toMatch(/no message is known/);
  expect(judge(press(), bare)).toMatch(/another request/);
});

const fail = (): never => {
  throw new Error('it is not read');
};
