import { planTool } from '../support/plan-tool';
import { until } from '../support/until';
import { expectNoComplaints, usePage } from './page-fixture';
import { callPlace, lookAtAll } from './web-inbox';

const { effects, web, start } = usePage('ticker', (written) => [planTool(written)]);
expectNoComplaints(web);

test('hunks are ticked one by one', async () => {
  const args = { tag: 'hunks', lines: ['one', 'two', 'three'] };
  const { workflowId } = await start([{ toolCalls: [{ name: 'propose_lines', arguments: args }] }]);
  const page = await web().tab(callPlace(workflowId));
  const count = page.locator('.diff-count');
  await count.getByText('+3').waitFor();
  await page.getByRole('checkbox', { name: 'Hunk 2' }).uncheck();
  // What is left out says so, and the head counts what would be applied.
  await page.getByRole('region', { name: 'Hunk 2' }).getByText('left out').waitFor();
  expect(await count.innerText()).toBe('+2 −0');
  await lookAtAll(page);
  await page.getByRole('button', { name: 'Approve 2 of 3 hunks' }).click();
  await page.locator('.notices').getByText('Approved 2 of 3 hunks of propose_lines').waitFor();
  const [ran] = await until('the call', async () => {
    const lines = await effects.lines();
    return lines.length > 0 && lines;
  });
  expect(ran).toBe('propose_lines hunks +one+three');
});
