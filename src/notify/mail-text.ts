import { someNames } from '../authority/votes/voters';
import { callFragment } from '../contract/names';
import { titleIn } from '../contract/text/call-title';
import { utc } from '../contract/text/times';
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
  'request.opened': 'Approve?',
  'request.escalated': 'Overdue. Approve?',
  'question.opened': 'Question:',
  'call.in_doubt': 'Did it happen?',
  'deadline.near': 'Expires soon:',
  test: 'Test:',
};

const SUBJECT_WIDTH = 120;
const PROMPT_WIDTH = 300;
/** The columns that what happens has in a heading, however long the names are. */
const MOST_WHAT = 40;

/** The name of the fact that says when an item expires. */
export const EXPIRES = 'expires';

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
  const { turn, callId, tool, agent, prompt, deadline, voting } = data;
  const since = type === 'request.escalated' ? (voting?.escalatedTo ?? []) : [];
  return [
    ['what', escapeText(titleIn(data))],
    ['tool', escapeText(tool)],
    ['agent', escapeText(agent)],
    ['asked', cut(escapeProse(prompt), PROMPT_WIDTH)],
    ...(since.length === 0 ? [] : [factOf('now asks', someNames(since))]),
    [EXPIRES, deadline === null ? 'never' : utc(deadline)],
    ['call', escapeText(`${turn}/${callId}`)],
  ];
}

function factOf(name: string, value: string): [name: string, value: string] {
  return [name, escapeText(value)];
}

/** The tool and the agent of a notice, whole. */
export function namesOf({ data: { tool, agent } }: Pick<Notice, 'data'>): string {
  return escapeText(`${tool} (${agent})`);
}

/** The heading of a notice: what happens, then the tool and the agent. It stays one line, whatever they contain. */
export function headingOf(notice: Notice, width = SUBJECT_WIDTH): string {
  const { type, data } = notice;
  const names = namesOf(notice);
  const what = cut(escapeText(titleIn(data)), Math.max(MOST_WHAT, width - names.length - 20));
  const about = type === 'test' ? 'notifications' : `${what} · ${names}`;
  return cut(`${HEADINGS[type]} ${about}`, width);
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

function escapeHtml(text: string) {
  return text.replace(/[&<>"']/g, (sign) => ENTITIES[sign] ?? sign);
}
