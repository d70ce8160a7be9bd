import { linkTo, mailOf } from '../../src/notify/mail-text';
import type { Notice } from '../../src/notify/notices';
import { testNotice } from '../../src/notify/notices';
import { NOW } from '../cli/support';
import { notice } from './support';

const PAGE = 'https://inbox.example.org/';
const about = (data: Partial<Notice['data']>): Notice => ({
  ...notice('a'),
  data: { ...notice('a').data, ...data },
});

it('says what waits, and where', () => {
  const { subject, text } = mailOf(notice('a'), PAGE);
  expect(subject).toBe('Approve? a · pay (clerk)');
  expect(text).toContain('Open it: https://inbox.example.org/#/turns/t-1/calls/1.1\n');
  expect(text).toMatch(/^Approve\? a · pay \(clerk\)\n\nwhat {5}a\n/);
  expect(text).toMatch(/call {5}t-1\/1\.1\n\nOpen it/);
  expect(text).toContain('Nothing is decided by this mail');
});

it('links only to the call, by a fragment that no server is sent', () => {
  const { html } = mailOf(about({ turn: 'a/b"?x=<1>' }), PAGE);
  const links = [...html.matchAll(/(?:href|src|action)="([^"]*)"/g)].map(([, link]) => link);
  expect(links).toEqual(['https://inbox.example.org/#/turns/a%2Fb%22%3Fx%3D%3C1%3E/calls/1.1']);
  expect(html).not.toMatch(/<(form|img|script|input|button)/);
});

it('escapes all that comes from elsewhere', () => {
  const evil = `<img src=x onerror="1">&'\u202e\r\nBcc: eve@example.org`;
  const { subject, text, html } = mailOf(
    about({ tool: evil, summary: evil, prompt: evil, agent: evil }),
    PAGE,
  );
  expect(subject).not.toMatch(/[\r\n\u202e]/);
  expect(text).not.toMatch(/[\r\u202e]|^Bcc/m);
  expect(html).not.toMatch(/<img|onerror="|[\r\n\u202e]/);
});

it('says what happens first, and when in a zone', () => {
  const summary = '1.1 pay 18,250.50 EUR to DE89 3704';
  const { subject, text } = mailOf(about({ summary, deadline: '2026-12-05T11:51:09.000Z' }), PAGE);
  expect(subject).toBe('Approve? 18,250.50 EUR to DE89 3704 · pay (clerk)');
  expect(text).toContain('expires  2026-12-05 11:51 UTC\n');
});

it('is short, however long a name is', () => {
  expect(mailOf(about({ tool: 'x'.repeat(5000), prompt: 'y'.repeat(5000) }), PAGE).subject.length).toBe(120);
});

it('says that a test is one', () => {
  const { subject, text } = mailOf(testNotice(NOW), PAGE);
  expect([subject, text.includes('Nothing waits for you')]).toEqual(['Test: notifications', true]);
  expect(linkTo('https://example.org/tools/inbox/', notice('a'))).toBe(
    'https://example.org/tools/inbox/#/turns/t-1/calls/1.1',
  );
  expect(linkTo(PAGE, testNotice(NOW))).toBe('https://inbox.example.org/#/');
});

it('names those who may decide since nobody did in time', () => {
  const voting = { votes: [], needs: { approvals: 1, who: [] }, escalatedTo: ['lea', 'le\u202eo'] };
  const { subject, text } = mailOf({ ...about({ voting }), type: 'request.escalated' }, PAGE);
  expect(subject).toBe('Overdue. Approve? a · pay (clerk)');
  expect(text).toMatch(/^now asks +lea, le⟦U\+202E⟧o$/m);
});
