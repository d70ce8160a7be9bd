import type { JSX } from 'preact';
import type { Issue } from '../../../contract/tool';
import { Text } from '../../parts/text';

/** What is wrong with a field. `withPath`: where the field is not beside it. */
export function Issues({
  of,
  id,
  withPath = false,
}: {
  of: readonly Issue[];
  id: string;
  withPath?: boolean;
}): JSX.Element {
  return (
    <ul class="issues" id={id}>
      {of.map(({ path, message }, index) => (
        <li key={index}>
          {withPath && path !== '' && (
            <code>
              <Text of={path} />{' '}
            </code>
          )}
          <Text of={message} />
        </li>
      ))}
    </ul>
  );
}
