import type { JSX } from 'preact';
import { span } from '../../../contract/times';
import type { RequestOpened } from '../../../history/events';
import { EFFECT_WORDS, SAFETY_WORDS } from '../../model/words';
import { Deadline } from '../../parts/deadline';
import { Text } from '../../parts/text';
import { useNow } from '../../state/use-now';

/** What the record says about a request; none of it comes from the model. */
export function Facts({
  request,
  timeoutMs,
}: {
  request: RequestOpened;
  timeoutMs: number | undefined;
}): JSX.Element {
  const now = useNow();
  const { safety, effect, policyReason, deadline } = request;
  return (
    <dl class="facts">
      <div>
        <dt>Safety</dt>
        <dd>
          <strong>{safety}</strong> <span class="quiet">{SAFETY_WORDS[safety]}</span>
        </dd>
      </div>
      <div>
        <dt>Effect</dt>
        <dd>
          <strong>{effect}</strong> <span class="quiet">{EFFECT_WORDS[effect]}</span>
        </dd>
      </div>
      {timeoutMs !== undefined && (
        <div>
          <dt>Timeout</dt>
          <dd>{span(timeoutMs)}</dd>
        </div>
      )}
      <div>
        <dt>Expires</dt>
        <dd>
          <Deadline of={deadline} now={now} />
        </dd>
      </div>
      {policyReason !== undefined && (
        <div class="wide">
          <dt>Policy</dt>
          <dd>
            <Text of={policyReason} />
          </dd>
        </div>
      )}
    </dl>
  );
}
