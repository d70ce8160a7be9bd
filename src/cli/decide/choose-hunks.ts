/** What a person says to one hunk of a file proposal. `leave` decides nothing; `edit` changes the arguments instead. */
export type HunkAnswer = 'yes' | 'no' | 'all' | 'done' | 'split' | 'edit' | 'leave';

/** How far the choosing is: the hunks before `at` are chosen. */
export interface HunkChoice {
  readonly ids: readonly string[];
  readonly at: number;
  readonly accepted: readonly string[];
}

/** Nothing is chosen yet. */
export function startChoice(ids: readonly string[]): HunkChoice {
  return { ids, at: 0, accepted: [] };
}

/** The hunk that is to be chosen next; undefined where all are. */
export function currentHunk({ ids, at }: HunkChoice): string | undefined {
  return ids[at];
}

/** The choice after an answer to its current hunk. `split`, `edit` and `leave` choose nothing. */
export function answerHunk(choice: HunkChoice, answer: HunkAnswer): HunkChoice {
  const { ids, at, accepted } = choice;
  switch (answer) {
    case 'yes':
      return { ids, at: at + 1, accepted: [...accepted, ...ids.slice(at, at + 1)] };
    case 'no':
      return { ids, at: at + 1, accepted };
    case 'all':
      return { ids, at: ids.length, accepted: [...accepted, ...ids.slice(at)] };
    case 'done':
      return { ids, at: ids.length, accepted };
    default:
      return choice;
  }
}

/** What a finished choice decides: all hunks are the proposal as it is, none is a denial. */
export function choiceMeans({ ids, accepted }: HunkChoice): 'all' | 'some' | 'none' {
  if (accepted.length === 0) return 'none';
  return accepted.length === ids.length ? 'all' : 'some';
}
