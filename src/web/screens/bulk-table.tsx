import type { JSX } from 'preact';
import { Code, Text } from '../ui/text';
import { Deadline } from '../ui/widgets';
import { hrefOf } from '../model/route';
import { keyOf } from '../model/inbox';
import { SeenEnd, SeenText } from '../ui/seen';
import { SelectBox } from './inbox-list';
import { useNow } from '../ui/app';
import type { Json } from '../../contract/json';
import type { RequestOpened } from '../../history/events';
import type { InboxItem } from '../../server/api';
import type { AlikeField } from '../model/alike';

/** A request that is selected and was read. */
export interface Chosen {
  item: InboxItem;
  request: RequestOpened;
  runId: string;
  /** Why the request must not be approved together with others. */
  alone: string | undefined;
}

/** A link to a call by its id. */
export function CallLink({ item: { turn, callId } }: { item: InboxItem }): JSX.Element {
  return (
    <a href={hrefOf({ at: 'call', turn, callId })}>
      <Text of={`${turn}/${callId}`} />
    </a>
  );
}

/**
 * A table with a row for each call and a column for each field that differs. On a narrow screen each cell names its
 * column.
 */
export function Differences({
  chosen,
  differing,
}: {
  chosen: readonly Chosen[];
  differing: readonly AlikeField[];
}): JSX.Element {
  const now = useNow();
  return (
    <div class="differences" role="region" aria-label="Differences" tabIndex={0}>
      <table>
        <thead>
          <tr>
            <th scope="col">Call</th>
            {differing.map((field) => (
              <th scope="col" key={`${field.isArgument}${field.name}`}>
                <FieldName of={field} />
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {chosen.map((one, index) => (
            <tr key={keyOf(one.item)}>
              <RowHead {...one} now={now} />
              {differing.map((field) => (
                <td key={`${field.isArgument}${field.name}`}>
                  <span class="cell-name" aria-hidden="true">
                    <FieldName of={field} />
                  </span>
                  <Value of={field.values[index]} />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** The call of a row, and the time that is left to decide it. */
function RowHead({ item, request, alone, now }: Chosen & { now: number }): JSX.Element {
  return (
    <th scope="row">
      <SelectBox item={item} /> <CallLink item={item} /> <Deadline of={request.deadline} now={now} />
      <span class="quiet prompt">
        <Text of={item.prompt} kind="prose" />
      </span>
      {alone !== undefined && (
        <span class="alone">
          Not approved with the others: <Text of={alone} />
        </span>
      )}
    </th>
  );
}

function FieldName({ of: { name, isArgument } }: { of: AlikeField }): JSX.Element {
  return isArgument ? <Code of={name} /> : <>{name}</>;
}

function Value({ of }: { of: Json | undefined }): JSX.Element {
  if (typeof of === 'string' && of !== '')
    return (
      <span class={of.includes('\n') ? 'code block' : 'code'}>
        <SeenText of={of} layout={of.includes('\n') ? 'block' : 'line'} />
      </span>
    );
  return (
    <>
      {of === undefined || of === '' ? (
        <span class="quiet">{of === '' ? '(empty text)' : '(absent)'}</span>
      ) : (
        <code>{JSON.stringify(of)}</code>
      )}
      <SeenEnd />
    </>
  );
}

/** The fields that are the same in all requests, shown once. */
export function Same({ of }: { of: readonly AlikeField[] }): JSX.Element {
  return (
    <section aria-labelledby="same-title">
      <h2 id="same-title">The same in all</h2>
      <dl class="leaves">
        {of.map((field) => (
          <div class="leaf" key={`${field.isArgument}${field.name}`}>
            <dt>
              <FieldName of={field} />
            </dt>
            <dd class="text">
              <Value of={field.values[0]} />
            </dd>
          </div>
        ))}
      </dl>
    </section>
  );
}
