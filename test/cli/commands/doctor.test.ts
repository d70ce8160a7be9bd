import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { checkSignIn, findingLines, verdictOf } from '../../../src/cli/commands/doctor';
import { startRogue } from '../../support/oidc';
import { scratchDirectory } from '../../support/scratch';
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

describe('a sign-in file', () => {
  const directory = scratchDirectory();
  const checkText = (text: string) => {
    const file = join(directory(), 'sign-in.yaml');
    writeFileSync(file, text);
    return checkSignIn(file, {});
  };

  it('has an issuer that answers, or does not', async () => {
    const issuer = await startRogue();
    const text = `publicUrl: https://inbox.example.com\noidc: { issuer: '${issuer.issuer}', clientId: inbox }\n`;
    expect(await checkText(text)).toEqual([
      { name: 'issuer', state: 'ok', detail: `${issuer.issuer} answers` },
    ]);
    await issuer.stop();
    expect(await checkText(text)).toEqual([
      {
        ...{ name: 'issuer', state: 'bad', todo: expect.any(String) },
        detail: `the issuer ${issuer.issuer} cannot be reached, or does not answer as one`,
      },
    ]);
  });

  it('has mistakes', async () => {
    expect(await checkText('oidc: 7')).toEqual([
      expect.objectContaining({ name: 'sign-in file', state: 'bad' }),
    ]);
  });
});
