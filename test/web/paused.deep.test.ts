import { connect } from '../../src/client';
import { defineAgent } from '../../src/tools/define-agent';
import { scriptedModel } from '../../src/models/scripted';
import { startFixture } from '../support/fixture';
import { openWebInbox } from './web-inbox';

test('every page says what is paused, by whom and why, until it is not', async () => {
  const idle = defineAgent({ name: 'idle', instructions: 'wait', model: scriptedModel([]), tools: [] });
  // A pause holds everything in its namespace.
  const fixture = await startFixture({ ownServer: {}, agents: [idle] });
  const client = await connect({ client: fixture.client });
  const web = await openWebInbox(fixture.address);
  const page = await web.tab();
  const paused = page.getByRole('status', { name: 'What is paused' });
  await page.locator('.connection').getByText('live', { exact: true }).waitFor();
  expect(await paused.innerText()).toBe('');
  await client.pause({ tool: 'pay', reason: 'the bank is\u202e down', by: 'ann' });
  await paused.getByText(/ann paused calls of pay since .* UTC: the bank is/).waitFor();
  // It is not turned around: the letter that would do so is shown.
  expect(await paused.innerText()).toContain('U+202E');
  await client.pause({ reason: 'an incident', by: 'bob', models: true });
  await paused.getByText(/bob paused all calls with an effect and all model calls/).waitFor();
  await page.goto(`${web.url}/#/turns`);
  await paused.getByText(/bob paused/).waitFor();
  await client.resume({ all: true, by: 'ann' });
  await paused.getByText('paused').first().waitFor({ state: 'detached' });
  await fixture.client.workflow.getHandle('countersign-control').terminate('an operator at night');
  await paused.getByText(/was closed: no call with an effect starts/).waitFor();
  expect(web.complaints).toEqual([]);
  await web.stop();
});
