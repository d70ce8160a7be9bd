import { join } from 'node:path';
import { openPosts, type Post, postKey } from '../../src/notify/slack-posts';
import { scratchDirectory } from '../support/scratch';
import { AT, NOW } from '../cli/support';
import { notice } from './support';

const directory = scratchDirectory();
const post: Post = { notice: notice('a'), target: 'C1', at: NOW, asked: AT };
const DAY = 24 * 3_600_000;

it('keeps what was posted over a restart, and what is over for a month', async () => {
  const file = join(directory(), 'posts.json');
  const posts = await openPosts(file);
  await posts.set('old', { ...post, at: NOW - 31 * DAY, over: 'denied' }, NOW);
  await posts.set('open', { ...post, at: NOW - 31 * DAY }, NOW);
  await posts.set('gone', post, NOW);
  await posts.set('gone', undefined, NOW);
  expect((await openPosts(file)).entries().map(([key]) => key)).toEqual(['open']);
});

it('keeps nothing on disk without a file', async () => {
  const posts = await openPosts(undefined);
  await posts.set('a', post, NOW);
  expect([posts.get('a'), posts.entries().length]).toEqual([post, 1]);
  await posts.set('a', undefined, NOW);
  expect(posts.get('a')).toBeUndefined();
});

it('tells targets and notices apart', () => {
  const keys = [postKey(notice('a'), 'C1'), postKey(notice('a'), 'C2'), postKey(notice('b'), 'C1')];
  expect(new Set(keys).size).toBe(3);
});
