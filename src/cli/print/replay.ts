import type { Finding } from '../../history/replay/explain';
import type { Judged } from '../replay/judge';
import type { ReplayProgress } from '../replay/runs';
import type { Screen } from './screen';
import { factLines, type Cell } from './table';
import { span } from '../../contract/times';
import { visible, type Paint } from './visible';

type Look = Pick<Screen, 'width' | 'style'>;

/** How far a batch is, in one line. */
export function replayProgressLine({ runs, done, gone }: ReplayProgress): string {
  return runs === 0 ? 'listing turns' : `replayed ${done + gone} of ${runs}`;
}

/** Why a run does not replay: in the words of the agent first, then Temporal's own. */
export function findingLines({ turn, runId, finding }: Judged, { width, style }: Look): string[] {
  if (finding === undefined) return [];
  const facts: [string, Cell][] = [
    ...(runId === undefined || runId === ''
      ? []
      : [['run', { text: visible(runId) }] satisfies [string, Cell]]),
    ['where', { text: whereOf(finding) }],
    ...sides(finding),
    ...temporal(finding, style.quiet),
  ];
  return [
    style.bad(`${visible(turn)} does not replay: ${SUMS[finding.kind]}`),
    ...factLines(facts, { width: width - 2, quiet: style.quiet }).map((line) => `  ${line}`),
    '',
  ];
}

const SUMS: Readonly<Record<Finding['kind'], string>> = {
  other: 'the code does something else now',
  missing: 'the code does not do what history has',
  extra: 'the code does something that history does not have',
  threw: 'the code fails',
  stuck: 'the code does not come to rest',
  no_workflow: 'the code has no workflow of this type',
  unreadable: 'its history cannot be read here',
  unknown: 'Temporal cannot match it with the code',
};

function whereOf({ step, callId, eventId }: Finding): string {
  const call = callId === undefined ? [] : [`call ${visible(callId)}`];
  return [...(step === undefined ? [] : [`step ${step}`]), ...call, `event #${eventId}`].join(', ');
}

/** Where the code is ended, what history has is not compared. */
const GOES_ON: readonly Finding['kind'][] = ['threw', 'stuck'];

function sides({ kind, history, code, why }: Finding): [string, Cell][] {
  if (why !== undefined) return [['why', { text: visible(why) }]];
  if (kind === 'no_workflow' || kind === 'unknown') return [];
  return [
    ['history', { text: visible(history ?? (GOES_ON.includes(kind) ? 'goes on' : 'has nothing there')) }],
    ['the code', { text: visible(code ?? 'does nothing there: it waits, or has ended') }],
  ];
}

function temporal({ message }: Finding, paint: Paint): [string, Cell][] {
  return message === undefined ? [] : [['Temporal says', { text: visible(message), paint }]];
}

/** What came of all of them. */
export interface ReplaySum {
  replayed: number;
  failed: number;
  gone: number;
  events: number;
  ms: number;
}

/** The last line: how many replay. */
export function sumLine({ replayed, failed, gone, events, ms }: ReplaySum, { style }: Look): string {
  const lost = gone === 0 ? '' : `; ${gone} were deleted meanwhile`;
  const facts = `${events.toLocaleString('en-US')} events in ${span(ms)}${lost}`;
  if (replayed + failed === 0) return `Nothing to replay${lost}.`;
  if (failed > 0) return style.bad(`${failed} of ${replayed + failed} runs do not replay (${facts})`);
  return style.good(`${replayed === 1 ? '1 run replays' : `all ${replayed} runs replay`} (${facts})`);
}
