import { clock } from '../../contract/times';
import type { Refused } from '../../contract/decision';
import { REFUSAL_WORDS } from './words';

/** Why a decision was refused: in words, by its code, and whose decision stands. */
export function refusalWords({ code, message, standing }: Refused): string {
  const by =
    standing === undefined ? '' : ` ${standing.approver} ${standing.decision} it at ${clock(standing.at)}.`;
  const said = code === 'malformed' ? ` ${message}` : '';
  return `${REFUSAL_WORDS[code]}${by}${said} (${code})`;
}
