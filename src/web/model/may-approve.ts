/** The state that may still prevent an approval. */
interface ReviewState {
  /** Whether the request has just replaced another request. A click may have been meant for that other request. */
  fresh: boolean;
  /** The number of blocks that have not been in view yet. */
  unseen: number;
  /** The number of marks in the text. `confirmed` says whether the person confirmed that they looked at them. */
  hidden: number;
  confirmed: boolean;
  /** The number of mistakes in the edited arguments. */
  issues: number;
  hunksLeft: boolean;
  /** Whether the person typed what the model should do instead, which only a denial says. */
  suggested?: boolean;
  expired: boolean;
  /** Why the person can never approve it. */
  never?: string;
}

/** Why a decision has to wait. */
export interface WhyNot {
  /** The reason in words. It is read with the button. */
  text: string;
  /**
   * The text that a screen reader reads unasked. It contains no counts, so that it changes when something changes for
   * the person, and not with each line that comes into view. Absent: nothing is read.
   */
  spoken?: string;
}

/** Why approving has to wait. Undefined if nothing prevents it. */
export function whyNot(review: ReviewState): WhyNot | undefined {
  const { fresh, unseen, hidden, confirmed, issues, hunksLeft, suggested, expired, never } = review;
  if (expired) return { text: 'Its deadline has passed.', spoken: 'It cannot be approved any more.' };
  if (never !== undefined) return { text: never, spoken: 'It cannot be approved by you.' };
  if (issues > 0)
    return {
      text:
        issues === 1
          ? 'One field has to be corrected first.'
          : `${issues} fields have to be corrected first.`,
      spoken: 'It cannot be approved with these values.',
    };
  if (suggested === true)
    return {
      text: 'You said what to do instead: deny it, or remove that.',
      spoken: 'It cannot be approved while you want something else instead.',
    };
  if (!hunksLeft)
    return {
      text: 'No hunk is ticked: deny it instead.',
      spoken: 'It cannot be approved without a hunk.',
    };
  if (unseen > 0)
    return {
      text:
        unseen === 1 ? 'One part has not been in sight yet.' : `${unseen} parts have not been in sight yet.`,
      spoken: 'It cannot be approved before all of it was shown.',
    };
  if (hidden > 0 && !confirmed)
    return {
      text: 'Confirm first that you looked at the marked characters.',
      spoken: 'It cannot be approved before you say that you looked at the marks.',
    };
  return fresh ? { text: 'It has just opened; wait a moment.' } : undefined;
}
