import type { JSX } from 'preact';
import { leavesOf, type Leaf } from '../../../contract/leaves';
import type { JsonObject } from '../../../contract/json';
import { SeenEnd, SeenText } from '../../parts/seen';
import { Text } from '../../parts/text';

/** Every leaf of arguments in a flat list, so that nothing hides below. Nothing is cut. */
export function ArgumentsView({ of }: { of: JsonObject }): JSX.Element {
  const leaves = leavesOf(of);
  if (leaves.length === 0) {
    return (
      <p class="quiet">
        None. <SeenEnd />
      </p>
    );
  }
  return (
    <dl class="leaves">
      {leaves.map((leaf) => (
        <LeafView key={leaf.path} {...leaf} />
      ))}
    </dl>
  );
}

function LeafView({ path, value }: Leaf): JSX.Element {
  const isText = typeof value === 'string';
  return (
    <div class="leaf">
      <dt>
        <Text of={path} />
      </dt>
      <dd class={isText ? 'text' : 'other'}>
        {isText ? <LeafText of={value} /> : <code>{JSON.stringify(value)}</code>}
        {!isText && <SeenEnd />}
      </dd>
    </div>
  );
}

function LeafText({ of }: { of: string }): JSX.Element {
  if (of === '') {
    return (
      <span class="quiet">
        (empty text)
        <SeenEnd />
      </span>
    );
  }
  const isBlock = of.includes('\n');
  return (
    <span class={isBlock ? 'code block' : 'code'}>
      <SeenText of={of} layout={isBlock ? 'block' : 'line'} />
    </span>
  );
}
