import type { JSX } from 'preact';
import type { JsonObject } from '../../../contract/json';
import { changesOf, type Part } from '../../model/changes';
import { Text } from '../../parts/text';

/** What differs between two sets of arguments, word by word. */
export function Changes({ before, after }: { before: JsonObject; after: JsonObject }): JSX.Element {
  const changes = changesOf(before, after);
  if (changes.length === 0) return <p class="quiet">Nothing differs.</p>;
  return (
    <dl class="leaves changes">
      {changes.map(({ path, kind, parts }) => (
        <div key={path} class="leaf">
          <dt>
            <Text of={path} />
            {kind !== 'changed' && <span class="chip quiet">{kind}</span>}
          </dt>
          <dd class="code block">
            {parts.map((part, index) => (
              <PartView key={index} {...part} />
            ))}
          </dd>
        </div>
      ))}
    </dl>
  );
}

function PartView({ kind, text }: Part): JSX.Element {
  const shown = <Text of={text} layout="block" />;
  if (kind === 'removed') return <del>{shown}</del>;
  return kind === 'added' ? <ins>{shown}</ins> : shown;
}
