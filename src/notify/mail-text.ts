import { someNames } from '../authority/votes/voters';
import { callFragment } from '../contract/names';
import { dateTime } from '../contract/text/times';
import { cut } from '../contract/text/columns';
import { escapeProse, escapeText } from '../contract/text/escape';
import type { Notice, NoticeType } from './notices';

/** The subject and the text of a mail. */
interface MailText {
  subject: string;
  text: string;
  html: string;
}

/** The headings of notices, by their type. A heading is also the subject of a mail. */
const HEADINGS: Readonly<Record<NoticeType, string>> = {
  'request.opened': 'Approval needed',
  'request.escalated': 'Approval needed, nobody decided in time',
  'question.opened': 'Question',
  'call.in_doubt': 'Outcome unknown',
  'deadline.near': 'Expires soon',
  test: 'Test',
};

const SUBJECT_WIDTH = 120;
const PROMPT_WIDTH = 300;

/** The address in the web inbox of the item that a notice is about. Opening the address decides nothing. */
export function linkTo(page: string, notice: Notice): string {
  return `${page.replace(/[/#]+$/, '')}/${inboxPathOf(notice)}`;
}

/** The path in the web inbox of the item that a notice is about. */
export function inboxPathOf({ type, data: { turn, callId } }: Pick<Notice, 'type' | 'data'>): string {
  return type === 'test' ? '#/' : callFragment(turn, callId);
}

/** The facts of a notice, each in one line that is safe to show. */
export function noticeFacts({ type, data }: Notice): [name: string, value: string][] {
  if (type === 'test') return [['test', data.summary]];
  const { turn, callId, tool, agent, summary, prompt, deadline, voting } = data;
  const since = type === 'request.escalated' ? (voting?.escalatedTo ?? []) : [];
  return [
    ['call', escapeText(`${turn}/${callId}`)],
    ['tool', escapeText(tool)],
    ['agent', escapeText(agent)],
    ['what', escapeText(summary)],
    ['asked', cut(escapeProse(prompt), PROMPT_WIDTH)],
    ...(since.length === 0 ? [] : [factOf('now asks', someNames(since))]),
    ['expires', deadline === null ? 'never' : dateTime(deadline)],
  ];
}

function factOf(name: string, value: string): [name: string, value: string] {
  return [name, escapeText(value)];
}

/** The heading of a notice with its tool and agent. It stays one line, whatever the names contain. */
export function headingOf({ type, data: { tool, agent } }: Notice, heading = HEADINGS[type]): string {
  const about = type === 'test' ? 'notifications' : escapeText(`${tool} (${agent})`);
  return cut(`${heading}: ${about}`, SUBJECT_WIDTH);
}

/** A notice as a mail: the waiting item, and the address to open it. The mail itself can decide nothing. */
export function mailOf(notice: Notice, page: string): MailText {
  const link = linkTo(page, notice);
  const facts = noticeFacts(notice);
  const named = Math.max(...facts.map(([name]) => name.length)) + 2;
  const last = 'Nothing is decided by this mail, or by opening the link.';
  const subject = headingOf(notice);
  const lines = facts.map(([name, value]) => `${name.padEnd(named)}${value}`);
  const rows = facts.map(
    ([name, value]) => `<tr><td>${escapeHtml(name)}</td><td>${escapeHtml(value)}</td></tr>`,
  );
  return {
    subject,
    text: [subject, '', ...lines, '', `Open it: ${link}`, '', last, ''].join('\n'),
    html:
      `<!doctype html><meta charset="utf-8"><p><strong>${escapeHtml(subject)}</strong></p>` +
      `<table cellpadding="4">${rows.join('')}</table>` +
      `<p><a href="${escapeHtml(link)}">Open it</a></p><p>${last}</p>`,
  };
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (sign) => ENTITIES[sign] ?? sign);
}
