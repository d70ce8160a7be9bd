import { assuranceWanted } from '../authority/votes/voters';
import { assuranceText, isAssured } from '../authority/rules/stricter-rule';
import { countMarks, deceivingIn } from '../contract/text/unsafe-text';
import type { RequestOpened } from '../history/events';
import { type Room, wholeText } from '../history/whole-text';
import type { Notice, NoticeType } from './notices';

/** The conditions under which a message gets buttons that decide. */
export interface ButtonRules {
  /** Whether clicks are taken at all. */
  isHeard: boolean;
  /** Whether the name of the person who clicked is signed. */
  isSigned: boolean;
}

/** Slack and some desktops show these entities as the characters that they stand for, so two texts would look alike. */
const ENTITY = /&(?:amp|lt|gt);/;

/** The types of notices whose request can be decided by a button. */
const DECIDABLE = ['request.opened', 'request.escalated'] as const;
type Decidable = (typeof DECIDABLE)[number];

const ELSEWHERE: Readonly<Record<Exclude<NoticeType, Decidable>, string>> = {
  'question.opened': 'Answer it in the web inbox.',
  'call.in_doubt': 'Resolve it in the web inbox.',
  'deadline.near': 'Decide it in the web inbox.',
  test: 'This is a test: nothing can be decided here.',
};

/** Why a notice only links to the web inbox. Undefined if the request can be decided by a button. */
export function whyOnlyLink(
  { type }: Notice,
  request: RequestOpened | undefined,
  { isHeard, isSigned, room }: ButtonRules & { room: Room },
): string | undefined {
  if (!isDecidable(type)) return ELSEWHERE[type];
  if (!isHeard || request === undefined) return 'Decide it in the web inbox.';
  const wanted = assuranceWanted(request.authority, 'approved');
  if (wanted !== undefined && !(isSigned && isAssured('signed_in', wanted)))
    return `Its rule wants decisions ${assuranceText(wanted)}, which a click here does not give.`;
  // A plan without a target only binds the call to files. The preview's text then says all that is decided.
  if ((request.preview?.plan?.targetHash ?? '') !== '')
    return 'It changes a file: look at the changes in the web inbox.';
  const { lines, isWhole } = wholeText(request, room);
  if (countMarks(deceivingIn(request)) > 0 || lines.some((line) => ENTITY.test(line)))
    return 'Its text deceives the eye: decide it in the web inbox, which marks what does.';
  return isWhole ? undefined : 'It is too long to be shown whole: decide it in the web inbox.';
}

function isDecidable(type: NoticeType): type is Decidable {
  return DECIDABLE.some((one) => one === type);
}
