import { Client, type ConnectionLike, type OperatorService } from '@temporalio/client';
import { temporal } from '@temporalio/proto';
import { CountersignError, errorMessage } from '../contract/errors';
import { ATTRIBUTE_TYPES } from './server-args';

const { IndexedValueType } = temporal.api.enums.v1;

const VALUE_TYPES: Readonly<Record<string, temporal.api.enums.v1.IndexedValueType>> = {
  Keyword: IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD,
  Int: IndexedValueType.INDEXED_VALUE_TYPE_INT,
  KeywordList: IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD_LIST,
  Datetime: IndexedValueType.INDEXED_VALUE_TYPE_DATETIME,
};

/** The namespace in which we look for the attributes, and a connection to its server. */
interface NamespaceConnection {
  /** The connection of a client or of a worker. */
  connection: ConnectionLike & { operatorService: OperatorService };
  namespace: string;
}

/** The attributes that the namespace lacks. */
export async function missingAttributes({ connection, namespace }: NamespaceConnection): Promise<string[]> {
  const known = await connection.operatorService.listSearchAttributes({ namespace });
  return Object.keys(ATTRIBUTE_TYPES).filter((name) => known.customAttributes?.[name] === undefined);
}

/**
 * Registers the missing attributes and waits until queries accept every attribute (a real cluster needs some seconds).
 *
 * @returns the names of the attributes that were missing.
 * @throws CountersignError `not_ready` naming the commands to run, if this caller may not register attributes.
 */
export async function ensureAttributes(place: NamespaceConnection, timeoutMs = 60_000): Promise<string[]> {
  const missing = await listMissing(place);
  if (missing.length > 0) await register(place, missing);
  await waitUntilUsable(place, performance.now() + timeoutMs);
  return missing;
}

/**
 * Lists the missing attributes. If listing fails, a query shows whether all attributes work. If they do not, all of
 * them count as missing.
 */
async function listMissing(place: NamespaceConnection): Promise<string[]> {
  try {
    return await missingAttributes(place);
  } catch {
    return (await isUsable(place)) ? [] : Object.keys(ATTRIBUTE_TYPES);
  }
}

async function register({ connection, namespace }: NamespaceConnection, missing: string[]): Promise<void> {
  const searchAttributes = Object.fromEntries(
    missing.map((name) => [
      name,
      VALUE_TYPES[ATTRIBUTE_TYPES[name] ?? ''] ?? IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD,
    ]),
  );
  try {
    await connection.operatorService.addSearchAttributes({ namespace, searchAttributes });
  } catch (error) {
    if (isAlreadyThere(error)) return;
    throw notAllowed(namespace, missing, error);
  }
}

/** Whether the attribute exists, because another worker registered it in between. */
function isAlreadyThere(error: unknown): boolean {
  return error instanceof Error && /already (exists|registered)/i.test(error.message);
}

function notAllowed(namespace: string, missing: string[], cause: unknown): CountersignError {
  const commands = missing.map((name) => registerCommand(namespace, name));
  return new CountersignError(
    'not_ready',
    `search attributes are missing and could not be added: ${errorMessage(cause)}`,
    {
      hint: `Ask somebody who may register search attributes to run:\n  ${commands.join('\n  ')}`,
      data: { missing },
      cause,
    },
  );
}

/** The command that registers one attribute by hand. */
export function registerCommand(namespace: string, name: string): string {
  return `temporal operator search-attribute create --namespace ${namespace} --name ${name} --type ${ATTRIBUTE_TYPES[name] ?? 'Keyword'}`;
}

async function waitUntilUsable(place: NamespaceConnection, until: number): Promise<void> {
  while (!(await isUsable(place))) {
    if (performance.now() > until) {
      throw new CountersignError(
        'not_ready',
        'the search attributes are registered but not usable yet',
        'Wait a moment and try again.',
      );
    }
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
}

async function isUsable({ connection, namespace }: NamespaceConnection): Promise<boolean> {
  const client = new Client({ connection, namespace });
  const query = Object.keys(ATTRIBUTE_TYPES)
    .map((name) => `${name} IS NOT NULL`)
    .join(' AND ');
  try {
    await client.workflow.count(query);
    return true;
  } catch {
    return false;
  }
}
