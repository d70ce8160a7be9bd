import type { JSX } from 'preact';
import type { CallView } from '../../../history/view-types';
import type { CallDetails } from '../../../server/api';
import { Text } from '../../parts/text';

/** What the user asked and what the model said. Neither is evidence of what the call does, so both say whose words they are. */
export function Context({ details: { view }, call }: { details: CallDetails; call: CallView }): JSX.Element {
  const step = view.steps.find(({ step: n }) => n === call.step);
  const others = (step?.callIds.length ?? 1) - 1;
  return (
    <section class="context" aria-label="What led here">
      <figure>
        <figcaption>The user asked</figcaption>
        <blockquote>
          <Text of={view.prompt} layout="block" />
        </blockquote>
      </figure>
      {step !== undefined && step.text.trim() !== '' && (
        <figure class="model">
          <figcaption>The model says</figcaption>
          <blockquote>
            <Text of={step.text.trim()} layout="block" />
          </blockquote>
        </figure>
      )}
      {others > 0 && (
        <p class="quiet">
          Step {call.step} asks for {others} more {others === 1 ? 'call' : 'calls'}.
        </p>
      )}
    </section>
  );
}
