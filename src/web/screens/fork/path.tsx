import type { ComponentChildren, JSX } from 'preact';
import type { ComparedStep, Comparison, PathCall, PathEnd, PathStep } from '../../../history/compare';
import { summaryOf } from '../../../history/summary';
import { fateWords, stateWords } from '../../model/words';
import { Chip } from '../../parts/chip';
import { Text } from '../../parts/text';

/** One step of both paths; what is the same in both is told once. */
export function StepView({ step, left, right, same }: ComparedStep): JSX.Element {
  return (
    <section class="paths" aria-label={`Step ${step}`}>
      <h3>
        Step {step}
        {same && <span class="quiet">, the same in both</span>}
      </h3>
      {!same && <PathView side="What happened" of={left} />}
      <PathView side={same ? 'Both' : 'This fork'} of={same ? left : right} />
    </section>
  );
}

type Side = 'What happened' | 'This fork' | 'Both';

/** Says whose path it is where the two do not stand side by side. */
function Path({ side, children }: { side: Side; children: ComponentChildren }): JSX.Element {
  return (
    <div class={side === 'Both' ? 'path both' : 'path'}>
      {side !== 'Both' && <span class="side">{side}</span>}
      {children}
    </div>
  );
}

function PathView({ side, of }: { side: Side; of: PathStep | undefined }): JSX.Element {
  if (of === undefined) {
    return (
      <Path side={side}>
        <p class="quiet">It did not come so far.</p>
      </Path>
    );
  }
  const { text, model, calls } = of;
  return (
    <Path side={side}>
      {calls.length === 0 ? (
        <p class="quiet">
          <Text of={model} /> answers
        </p>
      ) : (
        text.trim() !== '' && (
          <p class="prose">
            <Text of={text.trim()} layout="block" />
          </p>
        )
      )}
      {calls.map((call) => (
        <CallView key={call.callId} {...call} />
      ))}
    </Path>
  );
}

function CallView({ callId, tool, arguments: args, fate, content }: PathCall): JSX.Element {
  const [words, tone] = fateWords(fate);
  return (
    <div class="path-call">
      <code>
        <Text of={summaryOf({ callId, tool, arguments: args })} />
      </code>{' '}
      <Chip tone={tone}>{words}</Chip>
      {fate === 'done' && content !== undefined && content !== '' && (
        <p class="code block quiet">
          <Text of={content} layout="block" />
        </p>
      )}
    </div>
  );
}

/** How both paths ended. */
export function EndView({ left, right, same }: Comparison['end']): JSX.Element {
  return (
    <section class="paths" aria-label="The end">
      <h3>
        The end
        {same && <span class="quiet">, the same in both</span>}
      </h3>
      {!same && <End side="What happened" of={left} />}
      <End side={same ? 'Both' : 'This fork'} of={right} />
    </section>
  );
}

function End({ side, of }: { side: Side; of: PathEnd }): JSX.Element {
  const [words, tone] = stateWords(of.status);
  return (
    <Path side={side}>
      <Chip tone={tone}>{words}</Chip>
      <p class="prose">
        <Text of={of.answer ?? of.error ?? ''} layout="block" />
      </p>
    </Path>
  );
}
