import type { JSX } from 'preact';
import { describeModel } from '../../../history/model-label';
import type { StepView } from '../../../history/view-types';
import { Text } from '../../ui/text';

/** The model that wrote a reply, and what people should know about that. */
export function Writer({ step }: { step: StepView }): JSX.Element {
  return (
    <p class="quiet">
      Written by <Text of={describeModel(step)} />
    </p>
  );
}
