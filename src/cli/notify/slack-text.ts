import type { KnownBlock, ModalView, RichTextBlock, RichTextSection } from '@slack/types';
import { decidedIn } from '../../client/decided';
import { assuranceWanted, requestersOf, someNames } from '../../contract/authority/authority';
import { assuranceText, isAssured } from '../../contract/authority/votes';
import { countMarks, deceivingIn } from '../../contract/text/unsafe-text';
import { describePhase, describeVoting } from '../../history/labels';
import type { RequestOpened } from '../../history/events';
import type { CallView, TurnView } from '../../history/view';
import { escapeLines, escapeText } from '../print/escape';
import { cut } from '../print/format';
import { factsOf, headingOf, linkTo } from './mail-text';
import type { Notice, NoticeType } from './notices';
import { type Post, postKey } from './slack-posts';

/** A message as Slack takes it. */
export interface SlackText {
  /** What phones show beside the message. */
  text: string;
  blocks: KnownBlock[];
}

/** What buttons stand on. */
export interface ButtonRules {
  /** Whether somebody takes clicks. */
  isHeard: boolean;
  /** Whether it is signed who clicked. */
  isSigned: boolean;
}

/** So much of a message shows without a click; what is longer is shown by its beginning. */
const MOST_CHARACTERS = 1500;
const MOST_LINES = 30;
/** Slack refuses a button with more. */
const MOST_VALUE = 2000;
const HEADING_WIDTH = 140;
const NAMES_WIDTH = 300;

/** Slack shows these as the sign that they stand for, so two texts would look alike. */
const ENTITY = /&(?:amp|lt|gt);/;

export const APPROVE = 'countersign_approve';
export const DENY = 'countersign_deny';
const OPEN = 'countersign_open';
export const REASON = 'countersign_reason';

/** Notices of a request that can be decided by a button. */
type Decidable = 'request.opened' | 'request.escalated';

const ELSEWHERE: Readonly<Record<Exclude<NoticeType, Decidable>, string>> = {
  'question.opened': 'Answer it in the web inbox.',
  'call.in_doubt': 'Resolve it in the web inbox.',
  'deadline.near': 'Decide it in the web inbox.',
  test: 'This is a test: nothing can be decided here.',
};

/** Why a notice only links to the web inbox; undefined where it can be decided by a button. */
export function whyOnlyLink(
  { type }: Notice,
  request: RequestOpened | undefined,
  { isHeard, isSigned }: ButtonRules,
): string | undefined {
  if (type !== 'request.opened' && type !== 'request.escalated') return ELSEWHERE[type];
  if (!isHeard || request === undefined) return 'Decide it in the web inbox.';
  const wanted = assuranceWanted(request.authority, 'approved');
  if (wanted !== undefined && !(isSigned && isAssured('signed_in', wanted)))
    return `Its rule wants decisions ${assuranceText(wanted)}, which a click here does not give.`;
  if (request.preview?.plan !== undefined) return 'It changes a file: look at the changes in the web inbox.';
  const { lines, isWhole } = shownOf(request);
  if (countMarks(deceivingIn(request)) > 0 || lines.some((line) => ENTITY.test(line)))
    return 'Its text deceives the eye: decide it in the web inbox, which marks what does.';
  return isWhole ? undefined : 'It is too long to be shown whole: decide it in the web inbox.';
}

/** A notice as a message. Text of others is never formatted: it makes no link, mention or picture. */
export function messageOf(
  notice: Notice,
  { page, target, view, call }: { page: string; target: string; view?: TurnView; call?: CallView },
  rules: ButtonRules,
): SlackText & { hasButtons: boolean } {
  const why = whyOnlyLink(notice, call?.request, rules);
  const digest = call?.request?.seenDigest ?? '';
  const value = JSON.stringify({ callId: notice.data.callId, digest, key: postKey(notice, target) });
  const hasButtons = why === undefined && value.length <= MOST_VALUE;
  const shown = call?.request === undefined ? [] : [preformatted(shownOf(call.request).lines)];
  const said = why === undefined ? [] : [context(why)];
  return {
    hasButtons,
    text: escapeMrkdwn(headingOf(notice)),
    blocks: [
      header(headingOf(notice)),
      table([...factsOf(notice), ...moreFacts(view, call)]),
      ...shown,
      ...said,
      {
        type: 'actions',
        elements: [...(hasButtons ? decideButtons(notice, value) : []), link(notice, page)],
      },
    ],
  };
}

/** The message once nothing waits any more. */
export function overMessage({ notice, over = '' }: Pick<Post, 'notice' | 'over'>, page: string): SlackText {
  const said = cut(escapeText(over), NAMES_WIDTH);
  return {
    text: escapeMrkdwn(headingOf(notice)),
    blocks: [
      header(headingOf(notice)),
      table([...factsOf(notice).filter(([name]) => name !== 'expires'), ['now', said]]),
      { type: 'actions', elements: [link(notice, page)] },
    ],
  };
}

/** What only the person who clicked is shown. */
export function whisperOf(text: string): SlackText {
  const said = cut(escapeText(text), NAMES_WIDTH);
  return { text: escapeMrkdwn(said), blocks: [table([['', said]])] };
}

/** Asks why a call is denied. */
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
        element: { type: 'plain_text_input', action_id: REASON, multiline: true, max_length: 900 },
      },
    ],
  };
}

/** Since when a call waits for a person; undefined: it does not. */
export function askedAt({ phase, request, question, doubt }: CallView): string | undefined {
  if (phase === 'requested') return request?.at;
  if (phase === 'asked') return question?.at;
  return phase === 'in_doubt' ? doubt?.at : undefined;
}

const SAYS: Readonly<Record<string, string>> = {
  modified: 'approved with changes',
  withdrawn: 'vote withdrawn',
  happened: 'it happened, says',
  'did-not': 'it did not happen, says',
  'run-again': 'started once more',
};

/** What became of a call that a message was about, in one line; undefined: it waits as it did. */
export function outcomeOf(
  view: TurnView,
  { notice, asked }: Pick<Post, 'notice' | 'asked'>,
): string | undefined {
  const { callId } = notice.data;
  const call = view.calls.find((one) => one.callId === callId);
  if (call === undefined) return 'the turn does not have this call any more';
  const now = askedAt(call);
  if (now === asked) return undefined;
  const by = decidedIn(view)
    .filter((one) => one.callId === callId && one.at >= asked)
    .map(({ what, approver, at }) => ({ at, text: `${SAYS[what] ?? what} ${joiner(what)}${approver}` }));
  const said = by.sort((a, b) => Date.parse(a.at) - Date.parse(b.at)).map(({ text }) => text);
  if (now !== undefined) return [...said, 'it is asked about again in another message'].join('; ');
  const [phase] = describePhase(call);
  const isDecided = said.length > 0 && call.phase !== 'expired' && call.phase !== 'closed';
  return isDecided ? said.join(', ') : [phase, ...said].join('; ');
}

function joiner(what: string): string {
  return SAYS[what]?.endsWith('says') === true ? '' : 'by ';
}

function moreFacts(view: TurnView | undefined, call: CallView | undefined): [string, string][] {
  if (view === undefined || call === undefined) return [];
  const asks = requestersOf(view.origin, call.request?.authority);
  const { note, policyReason, edit } = { ...call.request };
  const facts: [string, string | undefined][] = [
    ['for', asks.length === 0 ? 'nobody is named' : someNames(asks)],
    ['decides', describeVoting(call)],
    ['changed by', edit?.approver],
    ['policy', policyReason],
    ['again', note],
  ];
  return facts.flatMap(([name, value]): [string, string][] =>
    value === undefined ? [] : [[name, cut(escapeText(value), NAMES_WIDTH)]],
  );
}

/** Arguments and preview, as far as there is room. */
function shownOf({ arguments: args, preview }: RequestOpened): { lines: string[]; isWhole: boolean } {
  const text = preview === undefined ? [] : ['', 'preview:', ...escapeLines(preview.text)];
  const all = [...escapeLines(JSON.stringify(args, null, 2)), ...text];
  let left = MOST_CHARACTERS;
  const lines: string[] = [];
  for (const line of all.slice(0, MOST_LINES)) {
    if (line.length > left) break;
    lines.push(line);
    left -= line.length + 1;
  }
  if (lines.length === all.length) return { lines, isWhole: true };
  const rest = lines.length === 0 ? [(all[0] ?? '').slice(0, MOST_CHARACTERS)] : lines;
  return { lines: [...rest, '… (cut)'], isWhole: false };
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

/** Elements of text are shown letter by letter: links, mentions and emoji are elements of their own. */
function table(facts: readonly (readonly [name: string, value: string])[]): RichTextBlock {
  const elements = facts.flatMap(([name, value], at): RichTextSection['elements'] => [
    ...(name === '' ? [] : [{ type: 'text', text: `${name}: `, style: { bold: true } } as const]),
    { type: 'text', text: `${value === '' ? '-' : value}${at === facts.length - 1 ? '' : '\n'}` },
  ]);
  return { type: 'rich_text', elements: [{ type: 'rich_text_section', elements }] };
}

function preformatted(lines: readonly string[]): RichTextBlock {
  const text = lines.join('\n');
  return {
    type: 'rich_text',
    elements: [{ type: 'rich_text_preformatted', border: 0, elements: [{ type: 'text', text }] }],
  };
}

/** The three signs that begin a link or a mention where Slack reads text. */
function escapeMrkdwn(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
