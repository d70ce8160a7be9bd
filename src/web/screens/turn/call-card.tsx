import type { JSX } from 'preact';
import { span } from '../../../contract/times';
import type { CallView } from '../../../history/view-types';
import { hrefOf } from '../../model/route';
import { phaseWords } from '../../model/words';
import { Chip } from '../../parts/chip';
import { Text } from '../../parts/text';
import { ArgumentsView } from '../call/arguments';
import { Outcome } from '../call/outcome';
import { WhatIf } from '../fork/what-if';

interface CardProps {
  turn: string;
  call: CallView;
  isOpen: boolean;
  toggle: () => void;
}

/** One call in a line; opened, everything on record about it. */
export function CallCard({ turn, call, isOpen, toggle }: CardProps): JSX.Element {
  const [words, tone] = phaseWords(call.phase, call.result?.success);
  const waits = call.phase === 'requested' || call.phase === 'in_doubt';
  return (
    <div class="call-card">
      <div class="call-line">
        <button class="button plain" type="button" aria-expanded={isOpen} onClick={toggle}>
          <span aria-hidden="true">{isOpen ? '▾' : '▸'}</span> {call.callId}{' '}
          <code>
            <Text of={call.tool} />
          </code>
        </button>
        <Chip tone={tone}>{words}</Chip>
        {call.durationMs !== undefined && <span class="quiet">{span(call.durationMs)}</span>}
        <WhatIf turn={turn} call={call} />
        {waits && (
          <a class="button primary" href={hrefOf({ at: 'call', turn, callId: call.callId })}>
            {call.phase === 'requested' ? 'Decide' : 'Resolve'}
          </a>
        )}
      </div>
      {isOpen && (
        <div class="call-body">
          <ArgumentsView of={call.effective} />
          <Outcome call={call} />
        </div>
      )}
    </div>
  );
}
