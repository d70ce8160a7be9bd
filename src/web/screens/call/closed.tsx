import type { JSX } from 'preact';
import type { CallView } from '../../../history/view-types';
import type { CallDetails } from '../../../server/api';
import { ArgumentsView } from './arguments';
import { ModelSays, UserAsked } from './context';
import { CallHead } from './head';
import { Outcome } from './outcome';
import { Refusal } from './refusal';

interface ClosedProps {
  details: CallDetails;
  call: CallView;
  refusal: string | undefined;
  next: () => void;
}

/** A call that waits for nobody: who decided, what ran, and what came of it. */
export function ClosedPanel({ details, call, refusal, next }: ClosedProps): JSX.Element {
  return (
    <article class="call" aria-label={`Call ${call.callId}`}>
      <CallHead details={details} call={call}>
        <Refusal text={refusal} />
      </CallHead>
      <Outcome call={call} />
      <section aria-labelledby="ran-title">
        <h3 id="ran-title">Arguments</h3>
        <ArgumentsView of={call.effective} />
      </section>
      <UserAsked view={details.view} />
      <ModelSays view={details.view} call={call} />
      <p>
        <button class="button" type="button" onClick={next}>
          Next in the inbox
        </button>
      </p>
    </article>
  );
}
