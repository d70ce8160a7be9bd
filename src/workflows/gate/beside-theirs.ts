import {
  arrayFromPayloads,
  type PayloadConverter,
  RawValue,
  rawValueTypeInfo,
  type TypeInfo,
} from '@temporalio/common';
import { maybeGetActivator } from '@temporalio/workflow/lib/global-attributes';
import { SIGNALS, UPDATES } from '../../contract/names';

const SIGNAL_NAMES = [SIGNALS.approval, SIGNALS.resolution, SIGNALS.abandon, SIGNALS.outcome];
const UPDATE_NAMES = [UPDATES.decide, UPDATES.resolve];

/**
 * Sets the handlers of a gate. Where the workflow has handlers of these names, set before or later, they get the messages
 * that are not for the gate. The gate's answers are plain JSON, whatever converter the workflow has. The SDK tells nobody
 * which handlers there are, so this uses its own list of them, as sdk-internals.ts does.
 */
export function setBesideTheirs(
  isOurs: (name: string, message?: RawValue) => boolean,
  set: () => void,
): void {
  const here = maybeGetActivator();
  if (here === undefined) return set();
  const { signalHandlers, updateHandlers, payloadConverter } = here;
  const signals = new Map(signalHandlers);
  const updates = new Map(updateHandlers);
  set();
  const read = (messages: RawValue[], types?: readonly TypeInfo[]): unknown[] => {
    const payloads = messages.map(({ payload }) => payload);
    return arrayFromPayloads(payloadConverter, payloads, undefined, types);
  };
  /** The workflow's own handler, if the message is for that. */
  const own = <E>(all: Map<string, E>, name: string, message?: RawValue): E | undefined => {
    const theirs = all.get(name);
    return theirs === undefined || isOurs(name, message) ? undefined : theirs;
  };
  share(signalHandlers, { names: SIGNAL_NAMES, theirs: signals }, (ours, name) => ({
    ...ours,
    handler: (...messages: RawValue[]) => {
      const theirs = own(signals, name, messages[0]);
      if (theirs === undefined) return ours.handler(...messages);
      return theirs.handler(...read(messages, theirs.typeInfo?.inputTypes));
    },
  }));
  share(updateHandlers, { names: UPDATE_NAMES, theirs: updates }, (ours, name) => ({
    ...ours,
    typeInfo: { ...ours.typeInfo, outputType: rawValueTypeInfo },
    validator: (...messages: RawValue[]) => {
      const theirs = own(updates, name, messages[0]);
      if (theirs === undefined) ours.validator?.(...messages);
      else theirs.validator?.(...read(messages, theirs.typeInfo?.inputTypes));
    },
    handler: (...messages: RawValue[]): unknown => {
      const theirs = own(updates, name, messages[0]);
      if (theirs === undefined) return rawOf(ours.handler(...messages));
      return rawOf(theirs.handler(...read(messages, theirs.typeInfo?.inputTypes)), payloadConverter);
    },
  }));
}

/** An answer as this converter writes it; without one, as plain JSON. */
function rawOf(answer: unknown, converter?: PayloadConverter): RawValue | Promise<RawValue> {
  return answer instanceof Promise
    ? answer.then((value) => new RawValue(value, converter))
    : new RawValue(answer, converter);
}

/** Makes handlers of ours that both share, and keeps those that the workflow sets from now on beside them. */
function share<E>(
  handlers: Map<string, E>,
  { names, theirs }: { names: readonly string[]; theirs: Map<string, E> },
  both: (ours: E, name: string) => E,
) {
  for (const name of names) {
    const ours = handlers.get(name);
    if (ours !== undefined) handlers.set(name, both(ours, name));
  }
  const set = handlers.set.bind(handlers);
  const remove = handlers.delete.bind(handlers);
  handlers.set = (name, entry) => {
    if (names.includes(name)) theirs.set(name, entry);
    else set(name, entry);
    return handlers;
  };
  handlers.delete = (name) => (names.includes(name) ? theirs.delete(name) : remove(name));
}
