import { VOTING } from './authority';
import { nullable, object, type Of, oneOf, text } from './schema/shape';

export const OPEN_ITEM = object(
  {
    callId: text(),
    kind: oneOf(['request', 'question', 'in_doubt']),
    tool: text(),
    summary: text(),
    /** ISO 8601, workflow time. */
    since: text(),
    /** ISO 8601. Null if it never expires. */
    deadline: nullable(text()),
  },
  {
    /** The digest of the request as an approver sees it. A decision names it. */
    seenDigest: text(),
    /** Why the last edit was not taken, in short. Only if there was an edit. */
    note: text(),
    /** Only if rules say who decides: the votes, and the votes that are still needed. */
    voting: VOTING,
  },
);
export interface OpenItem extends Of<typeof OPEN_ITEM> {}

/** The memo keeps this many characters of the note that says why people are asked again. */
const NOTE_CHARACTERS = 200;

type Perhaps = 'seenDigest' | 'note' | 'voting';

/** One waiting call in short, from the turn itself or from its history. */
export function openItemOf(
  of: Omit<OpenItem, Perhaps> & { [K in Perhaps]?: OpenItem[K] | undefined },
): OpenItem {
  const { seenDigest, note, voting, since, deadline, ...head } = of;
  const shown = head.kind === 'request' ? seenDigest : undefined;
  const some = { seenDigest: shown, note: note?.slice(0, NOTE_CHARACTERS), voting };
  return { ...head, ...some, since, deadline };
}
