import { freePorts } from '../../src/engine/ports';
import { startOwnServer } from '../support/server';
import { openDesk } from './desk';

test('the page says that the Temporal server is gone, and when it is back', async () => {
  const [port = 0] = await freePorts(1);
  const server = await startOwnServer({ port });
  const desk = await openDesk(server.address);
  const page = await desk.tab();
  const state = page.locator('.connection');
  await state.getByText('live', { exact: true }).waitFor();
  await server.stop();
  await state.getByText('no Temporal server, trying again').waitFor();
  expect(await state.getAttribute('title')).toContain('countersign doctor');
  // Who comes now is told the same instead of being kept waiting.
  const late = await page.context().newPage();
  await late.goto(desk.url);
  await late.locator('.connection').getByText('no Temporal server, trying again').waitFor();
  const again = await startOwnServer({ port });
  for (const tab of [page, late])
    await tab.locator('.connection').getByText('live', { exact: true }).waitFor();
  expect(desk.complaints).toEqual([]);
  await desk.stop();
  await again.stop();
}, 120_000);
