import type { KnownBlock, ModalView, RichTextBlock, RichTextSection } from '@slack/types';
import { someNames } from '../authority/votes/voters';
import { WORDS_COUNT } from '../contract/question';
import { describeVoting } from '../history/labels';
import type { CallView, TurnView } from '../history/view';
import { escapeText } from '../contract/text/escape';
import { cut } from '../contract/text/columns';
import { wholeText } from '../history/whole-text';
import { type ButtonRules, whyOnlyLink } from './buttons';
import { SECOND } from '../contract/limits';
import { EXPIRES, noticeFacts, headingOf, linkTo } from './mail-text';
import type { Notice } from './notices';
import { type Post, postKey } from './slack-posts';
import { requestersOf } from '../authority/votes/requesters';

/** A message in the form that Slack takes. */
export interface SlackText {
  /** The text that phones show with the message. */
  text: string;
  blocks: KnownBlock[];
}

/** The text that Slack shows of a message before a person expands it. */
const ROOM = { characters: 1500, lines: 30, indent: 2 };
/** The most characters in the value of a button. Slack refuses longer values. */
const MOST_VALUE = 2000;
const HEADING_WIDTH = 140;
const NAMES_WIDTH = 300;

export const APPROVE = 'countersign_approve';
export const DENY = 'countersign_deny';
const OPEN = 'countersign_open';
export const REASON = 'countersign_reason';
export const INSTEAD = 'countersign_instead';
/** The most characters of a reason that a person types in Slack. */
export const REASON_CHARACTERS = 900;

/** A notice as a message. Text from outside is never formatted: it cannot become a link, a mention or a picture. */
export function slackMessage(
  notice: Notice,
  { page, target, view, call }: { page: string; target: string; view?: TurnView; call?: CallView },
  rules: ButtonRules,
): SlackText & { hasButtons: boolean } {
  const why = whyOnlyLink(notice, call?.request, { ...rules, room: ROOM });
  const digest = call?.request?.seenDigest ?? '';
  const value = JSON.stringify({ callId: notice.data.callId, digest, key: postKey(notice, target) });
  const hasButtons = why === undefined && value.length <= MOST_VALUE;
  const shown = call?.request ? [preformatted(wholeText(call.request, ROOM).lines)] : [];
  const said = why === undefined ? [] : [context(why)];
  return {
    hasButtons,
    text: escapeMrkdwn(headingOf(notice)),
    blocks: [
      header(headingOf(notice)),
      ...shown,
      ...said,
      table([...moreFacts(view, call), ...noticeFacts(notice)], notice.data.deadline),
      {
        type: 'actions',
        elements: [...(hasButtons ? decideButtons(notice, value) : []), link(notice, page)],
      },
    ],
  };
}

/** The message that replaces an earlier message when its call no longer waits. */
export function overMessage({ notice, over = '' }: Pick<Post, 'notice' | 'over'>, page: string): SlackText {
  const said = cut(escapeText(over), NAMES_WIDTH);
  return {
    text: escapeMrkdwn(headingOf(notice)),
    blocks: [
      header(headingOf(notice)),
      table([...noticeFacts(notice).filter(([name]) => name !== EXPIRES), ['now', said]]),
      { type: 'actions', elements: [link(notice, page)] },
    ],
  };
}

/** The text that only the person who clicked sees. */
export function whisperOf(text: string): SlackText {
  const said = cut(escapeText(text), NAMES_WIDTH);
  return { text: escapeMrkdwn(said), blocks: [table([['', said]])] };
}

/** The window that asks why a call is denied. */
export function reasonView(key: string, { data: { tool } }: Notice): ModalView {
  return {
    type: 'modal',
    callback_id: REASON,
    private_metadata: key,
    title: plain('Deny this call'),
    submit: plain('Deny'),
    close: plain('Cancel'),
    blocks: [
      {
        type: 'input',
        block_id: REASON,
        label: plain(cut(`Why not ${escapeText(tool)}? The model reads it.`, HEADING_WIDTH)),
        hint: plain(WORDS_COUNT),
        element: {
          type: 'plain_text_input',
          action_id: REASON,
          multiline: true,
          max_length: REASON_CHARACTERS,
        },
      },
      {
        type: 'input',
        block_id: INSTEAD,
        optional: true,
        label: plain('Do this instead'),
        hint: plain('The model reads it as your words.'),
        element: {
          type: 'plain_text_input',
          action_id: INSTEAD,
          multiline: true,
          max_length: REASON_CHARACTERS,
        },
      },
    ],
  };
}

function moreFacts(view: TurnView | undefined, call: CallView | undefined): [string, string][] {
  if (view === undefined || call === undefined) return [];
  const asks = requestersOf(view.origin, call.request?.authority);
  const { note, notes, policyReason, edit } = { ...call.request };
  const facts: [string, string | undefined][] = [
    ['for', asks.length === 0 ? 'nobody is named' : someNames(asks)],
    ['decides', describeVoting(call, Date.now())],
    ['changed by', edit?.approver],
    ['policy', policyReason],
    ['notes', notes?.join('; ')],
    ['again', note],
  ];
  return facts.flatMap(([name, value]): [string, string][] =>
    value === undefined ? [] : [[name, cut(escapeText(value), NAMES_WIDTH)]],
  );
}

function decideButtons({ data }: Notice, value: string) {
  const about = cut(escapeText(data.tool), 60);
  const confirm = {
    title: plain('Approve this call?'),
    text: plain(`${about} runs once enough people have approved it.`),
    confirm: plain('Approve'),
    deny: plain('Back'),
  };
  return [
    { type: 'button', action_id: APPROVE, text: plain('Approve'), style: 'primary', value, confirm } as const,
    { type: 'button', action_id: DENY, text: plain('Deny'), style: 'danger', value } as const,
  ];
}

function link(notice: Notice, page: string) {
  return { type: 'button', action_id: OPEN, text: plain('Open'), url: linkTo(page, notice) } as const;
}

function plain(text: string) {
  return { type: 'plain_text', text, emoji: false } as const;
}

function header(text: string): KnownBlock {
  return { type: 'header', text: plain(text) };
}

function context(text: string): KnownBlock {
  return { type: 'context', elements: [plain(text)] };
}

/**
 * A table of facts. Its text is shown character by character, because links, mentions and emoji need elements of other
 * kinds.
 */
function table(
  facts: readonly (readonly [name: string, value: string])[],
  deadline: string | null = null,
): RichTextBlock {
  const elements = facts.flatMap(([name, value], at): RichTextSection['elements'] => {
    const end = at === facts.length - 1 ? '' : '\n';
    const head = name === '' ? [] : [{ type: 'text', text: `${name}: `, style: { bold: true } } as const];
    if (name !== EXPIRES || deadline === null)
      return [...head, { type: 'text', text: `${value === '' ? '-' : value}${end}` }];
    // Slack shows the time of its reader.
    const timestamp = Math.floor(Date.parse(deadline) / SECOND);
    const date = { type: 'date', timestamp, format: '{date_short_pretty}, {time}', fallback: value } as const;
    return [...head, date, { type: 'text', text: end === '' ? ' ' : end }];
  });
  return { type: 'rich_text', elements: [{ type: 'rich_text_section', elements }] };
}

function preformatted(lines: readonly string[]): RichTextBlock {
  const text = lines.join('\n');
  return {
    type: 'rich_text',
    elements: [{ type: 'rich_text_preformatted', border: 0, elements: [{ type: 'text', text }] }],
  };
}

/** Escapes the three characters that begin a link or a mention in Slack's text. */
function escapeMrkdwn(text: string) {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
