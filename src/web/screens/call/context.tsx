import type { JSX } from 'preact';
import type { CallView, TurnView } from '../../../history/view-types';
import { Text } from '../../parts/text';

/** What the turn was started with. */
export function UserAsked({ view }: { view: TurnView }): JSX.Element {
  return (
    <figure class="said-by">
      <figcaption>The user asked</figcaption>
      <blockquote>
        <Text of={view.prompt} layout="block" />
      </blockquote>
    </figure>
  );
}

/** What the model says about the step that holds the call. It is no evidence of what the call does. */
export function ModelSays({ view, call }: { view: TurnView; call: CallView }): JSX.Element | null {
  const step = view.steps.find(({ step: n }) => n === call.step);
  if (step === undefined) return null;
  const others = step.callIds.length - 1;
  return (
    <figure class="said-by model">
      <figcaption>
        The model says
        {others > 0 && `, asking for ${others} more ${others === 1 ? 'call' : 'calls'} in the same step`}
      </figcaption>
      <blockquote>
        {step.text.trim() === '' ? (
          <span class="quiet">(nothing)</span>
        ) : (
          <Text of={step.text.trim()} layout="block" />
        )}
      </blockquote>
    </figure>
  );
}
