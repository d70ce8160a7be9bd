import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';
import { root } from '../support/build';
import { describeWith } from '../support/parts';

const Rules = z.object({ groups: z.array(z.object({ rules: z.array(z.object({ alert: z.string() })) })) });
const Cases = z.object({
  tests: z.array(z.object({ alert_rule_test: z.array(z.object({ alertname: z.string() })) })),
});

const rulesFile = join(root, 'deploy', 'prometheus', 'alerts.yaml');
const casesFile = join(__dirname, 'alerts.test.yaml');
const alerts = Rules.parse(parse(readFileSync(rulesFile, 'utf8'))).groups.flatMap(({ rules }) =>
  rules.map(({ alert }) => alert),
);

it('tests each alert', () => {
  const cases = Cases.parse(parse(readFileSync(casesFile, 'utf8')));
  const tested = cases.tests.flatMap((one) => one.alert_rule_test.map(({ alertname }) => alertname));
  expect([...new Set(tested)].sort()).toEqual([...alerts].sort());
});

it('says in the runbook what to do about each alert', () => {
  const page = readFileSync(join(root, 'docs', 'operating.md'), 'utf8');
  expect(alerts.filter((alert) => !page.includes(`\`${alert}\``))).toEqual([]);
});

describeWith('prometheus', 'the alerts', () => {
  it.each([
    ['fire and stay silent as they should', ['test', 'rules', casesFile]],
    ['are rules as Prometheus reads them', ['check', 'rules', rulesFile]],
  ])('%s', (_, args) => {
    expect(execFileSync('promtool', args, { encoding: 'utf8' })).toContain('SUCCESS');
  });
});
