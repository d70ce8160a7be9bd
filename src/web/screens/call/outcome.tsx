import type { JSX } from 'preact';
import { clock, span } from '../../../contract/times';
import type { DecisionMade, Resolved } from '../../../history/events';
import type { CallView } from '../../../history/view-types';
import { Text } from '../../parts/text';
import { Changes } from './changes';

/** Who said what about a call, and what came of it. */
export function Outcome({ call }: { call: CallView }): JSX.Element {
  const { decisions, resolutions, result, durationMs, attempts } = call;
  const isChanged = JSON.stringify(call.arguments) !== JSON.stringify(call.effective);
  return (
    <section class="outcome" aria-label="What became of it">
      <ul class="said">
        {[...decisions, ...resolutions].map((said) => (
          <SaidLine key={said.eventId} said={said} />
        ))}
      </ul>
      {isChanged && <Changes before={call.arguments} after={call.effective} />}
      {result !== undefined && (
        <>
          <h3>
            {result.success ? 'Result' : `Failed: ${result.error?.code ?? 'unknown'}`}
            {durationMs !== undefined && <span class="quiet"> {span(durationMs)}</span>}
            {attempts !== undefined && attempts > 1 && <span class="quiet"> {attempts} attempts</span>}
          </h3>
          {result.error !== undefined && (
            <p>
              <Text of={result.error.message} layout="block" />
            </p>
          )}
          {result.content !== '' && result.content !== result.error?.message && (
            <pre class="code preview-text">
              <Text of={result.content} layout="block" />
            </pre>
          )}
        </>
      )}
    </section>
  );
}

function SaidLine({ said }: { said: DecisionMade | Resolved }): JSX.Element {
  const what = said.type === 'decision' ? said.decision : said.resolution;
  const { judgement } = said;
  return (
    <li>
      <span class="quiet">{clock(said.at)}</span> <strong>{what ?? 'said something unreadable'}</strong> by{' '}
      <Text of={said.approver} />{' '}
      <span class="quiet">
        ({said.authenticated === true ? 'signed in' : 'as claimed'}, <Text of={said.channel} />)
      </span>
      {said.reason !== undefined && (
        <>
          {': '}
          <Text of={said.reason} />
        </>
      )}
      {judgement.accepted === false && <span class="chip bad">refused: {judgement.code}</span>}
    </li>
  );
}
