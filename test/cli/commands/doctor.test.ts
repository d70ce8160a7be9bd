import { findingLines, verdictOf } from '../../../src/cli/commands/doctor';
import { AT, testScreen } from '../support';

type Finding = Parameters<typeof verdictOf>[0][number];

const finding = (state: Finding['state'], name = 'x'): Finding => ({ name, state, detail: AT });

it.each<[string, Finding[], number]>([
  ['all well', [finding('ok'), finding('warning')], 0],
  ['something bad', [finding('ok'), finding('bad')], 1],
  ['no server', [finding('bad', 'server'), finding('bad'), finding('skipped')], 5],
])('%s', (_name, findings, exit) => {
  expect(verdictOf(findings)).toBe(exit);
});

it('says what to do below what is wrong', () => {
  const findings: Finding[] = [
    { name: 'server', state: 'bad', detail: 'no answer', todo: 'Start\nit' },
    finding('ok'),
  ];
  expect(findingLines(findings, testScreen(80))).toEqual([
    'bad   server  no answer',
    '              Start',
    '              it',
    `ok    x       ${AT}`,
  ]);
});

it('stacks on a narrow screen', () => {
  expect(findingLines([finding('ok', 'a rather long name')], testScreen(40))).toEqual([
    'ok    a rather long name',
    `      ${AT}`,
  ]);
});
