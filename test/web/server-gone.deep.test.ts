import { freePorts } from '../../src/engine/server-args';
import { startOwnServer } from '../support/server';
import { openWebInbox } from './web-inbox';

test('the page says that the Temporal server is gone, and when it is back', async () => {
  const [port = 0] = await freePorts(1);
  const server = await startOwnServer({ port });
  const web = await openWebInbox(server.address);
  const page = await web.tab();
  const state = page.locator('.connection');
  await state.getByText('live', { exact: true }).waitFor();
  await server.stop();
  await state.getByText('no Temporal server, trying again').waitFor();
  expect(await state.getAttribute('title')).toContain('countersign doctor');
  // A page that is opened now says the same at once.
  const late = await page.context().newPage();
  await late.goto(web.url);
  await late.locator('.connection').getByText('no Temporal server, trying again').waitFor();
  const again = await startOwnServer({ port });
  for (const tab of [page, late])
    await tab.locator('.connection').getByText('live', { exact: true }).waitFor();
  expect(web.complaints).toEqual([]);
  await web.stop();
  await again.stop();
});
