import { temporal } from '@temporalio/proto';
import { connect, type Countersign } from '../../src/client';
import type { EncryptionOptions } from '../../src/encryption/keys';
import type { TurnInput, TurnResult } from '../../src/contract/turn';
import { testAddress } from './server';
import type { Fixture, TurnHandle } from './fixture';

type History = temporal.api.history.v1.IHistory;

/** A client with these keys and no others, and with a store of files where one is named. */
export const clientWith = (encryption: EncryptionOptions, files = ''): Promise<Countersign> =>
  connect({ address: testAddress(), encryption: { required: false, ...encryption }, files });

/** The handle of a turn by a client that has keys. */
export const handleOf = (client: Countersign, turn: string): TurnHandle =>
  client.client.workflow.getHandle<(input: TurnInput) => Promise<TurnResult>>(turn);

/** A turn's history as the server keeps it. */
export const rawHistory = async ({ client }: Fixture, turn: string): Promise<History> =>
  client.workflow.getHandle(turn).fetchHistory();

/** All that the server keeps and tells of a turn, byte for byte. */
export async function rawBytes(fixture: Fixture, turn: string): Promise<Buffer> {
  const { History } = temporal.api.history.v1;
  const { DescribeWorkflowExecutionResponse } = temporal.api.workflowservice.v1;
  const history = History.encode(await rawHistory(fixture, turn)).finish();
  const described = DescribeWorkflowExecutionResponse.encode(await rawDescription(fixture, turn)).finish();
  return Buffer.concat([history, described]);
}

/** What the server says of a turn: its memo, and what runs with its heartbeats. */
export const rawDescription = ({ client }: Fixture, workflowId: string) =>
  client.workflowService.describeWorkflowExecution({ namespace: 'default', execution: { workflowId } });
