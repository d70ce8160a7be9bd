import type { TranscriptEntry } from '../../contract/transcript';
import { visible } from './visible';
import { head, type Of, type Told } from './words';

/** What a fork comes from and what holds for it. */
export function tellForked(event: Of<'forked'>): Told {
  const { of, from, world, changed, model, taken } = event;
  const results = taken.filter(({ kind }) => kind === 'result').length;
  const said = [
    `a fork of ${visible(of)} from ${visible(from)} on, in a ${world} world`,
    ...(changed === undefined ? [] : [`another ${changed}`]),
    ...(model === undefined ? [] : [`the model ${visible(model)}`]),
    `${results} ${results === 1 ? 'result' : 'results'} taken from the record`,
  ];
  return ['fork', said.join('; ')];
}

/** What a fork took over, a line a message. */
export function takenLines(taken: readonly TranscriptEntry[]): string[] {
  return taken.flatMap((entry) => {
    if (entry.kind === 'result')
      return [
        `${entry.callId} ${visible(entry.tool)} ${entry.success ? 'gave' : 'failed'}: ${first(entry.content)}`,
      ];
    if (entry.kind === 'words' || entry.text.trim() === '') return [];
    return [`the model said: ${first(entry.text)}`];
  });
}

function first(text: string): string {
  return visible(head(text.trim().split('\n', 1)[0] ?? ''));
}
