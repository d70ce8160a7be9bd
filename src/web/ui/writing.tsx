import type { Pending } from '../../client/types';
import { counted } from '../../history/labels';
import type { TurnView } from '../../history/view-types';
import type { LiveText } from '../live';
import { Text } from './text';

/** The beginning of the text, from the worker's heartbeat, for a worker that does not stream to a web inbox. */
function headOf({ runId, thinking }: TurnView, pending: Pending | undefined): LiveText | undefined {
  const activity = pending?.activities.find(({ what }) => what === 'think');
  if (activity?.text === undefined || thinking === undefined) return undefined;
  const { attempt, text, step = thinking.step } = activity;
  return { runId, step, from: thinking.step, attempt, text };
}

/** The number of characters at the end of a long text that are drawn each time words are added. */
const DRAWN_CHARACTERS = 20_000;

interface WritingProps {
  view: TurnView;
  /** The streamed text. */
  text: LiveText | undefined;
  pending: Pending | undefined;
}

/** The text that the model is writing. The finished step then replaces this text. */
export function Writing({ view, text, pending }: WritingProps) {
  const { thinking, runId } = view;
  const live = text ?? headOf(view, pending);
  if (live === undefined || thinking?.step !== (live.from ?? live.step) || live.runId !== runId) return null;
  const { attempt, text: written } = live;
  if (written.trim() === '') return null;
  const left = written.length - DRAWN_CHARACTERS;
  return (
    <section class="step writing" aria-label="The model writes" aria-busy="true">
      <h2>
        Step {live.step} <span class="quiet">the model writes …</span>
      </h2>
      {attempt > 1 && <p class="quiet">Attempt {attempt}: it begins anew.</p>}
      <figure class="model">
        {left > 0 && <figcaption>… {counted(left, 'character')} before</figcaption>}
        <blockquote>
          <Text of={written.slice(-DRAWN_CHARACTERS)} layout="block" kind="prose" />
        </blockquote>
      </figure>
    </section>
  );
}
