import { escapeText } from '../../contract/text/escape';
import { count } from '../../contract/text/columns';
import type { ScreenFormat } from './screen';
import type { TableFact } from './table';
import { type SignatureState, type Tallied, TALLY_KINDS } from '../../audit/tally';
import type { SignatureReport } from '../../audit/check-signatures';

/** The counts in one line. A count of 0 is left out, unless its state is `own` or is always shown. */
function countsText({ counts }: Tallied, own: SignatureState): string {
  const shown = TALLY_KINDS.filter(
    ({ state, isAlways }) => state === own || isAlways === true || counts[state] > 0,
  );
  return shown.map(({ state, words }) => `${words}: ${count(counts[state])}`).join(', ');
}

/** The facts to print about the decisions that are named. */
function remarkFacts(
  { counts, marked, unproven }: Tallied,
  { style }: Pick<ScreenFormat, 'style'>,
): TableFact[] {
  const facts = [...marked, ...unproven].map(
    ({ n, turn, call, approver = '(taken out)', state, why }): TableFact => {
      const text = escapeText(`${turn}/${call}, ${approver}, record ${n}: ${why}`);
      const words = TALLY_KINDS.find((kind) => kind.state === state)?.words ?? state;
      return [words, { text, paint: state === 'bad' ? style.bad : style.warn }];
    },
  );
  const listed = TALLY_KINDS.filter(({ list }) => list !== undefined);
  const left = listed.reduce((sum, { state }) => sum + counts[state], 0) - facts.length;
  return [...facts, ['and', left === 0 ? undefined : `${count(left)} more of these`]];
}

const CARRIED_ONLY =
  'as this file carries them: whoever wrote it could have put in others; compare them with --approvers <path>';

/** The facts to print about the signatures of decisions: the counts of each result, and the people who signed. */
export function signatureFacts(report: SignatureReport, { style }: ScreenFormat): TableFact[] {
  const { keys, counts, verified } = report;
  const by = Object.entries(verified).map(([name, times]) => `${escapeText(name)}: ${count(times)}`);
  const isCarriedOnly = keys === 'carried' && counts.carried > 0;
  return [
    ['decisions', countsText(report, keys === 'approvers' ? 'verified' : 'carried')],
    ['keys', isCarriedOnly ? { text: CARRIED_ONLY, paint: style.warn } : undefined],
    ['signed by', by.length === 0 ? undefined : by.join(', ')],
    ...remarkFacts(report, { style }),
  ];
}
