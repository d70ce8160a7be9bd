import { temporal } from '@temporalio/proto';
import { connect, type Countersign } from '../../src/client';
import type { EncryptionOptions } from '../../src/encryption';
import type { TurnInput, TurnResult } from '../../src/contract/turn';
import { testAddress } from './server';
import type { TestBench, TurnHandle } from './worker';

type History = temporal.api.history.v1.IHistory;

/** A client with these keys and no others. */
export const deskWith = (encryption: EncryptionOptions): Promise<Countersign> =>
  connect({ address: testAddress(), encryption: { required: false, ...encryption } });

/** The handle of a turn by a client that has keys. */
export const handleOf = (desk: Countersign, turn: string): TurnHandle =>
  desk.client.workflow.getHandle<(input: TurnInput) => Promise<TurnResult>>(turn);

/** A turn's history as the server keeps it. */
export const rawHistory = async ({ client }: TestBench, turn: string): Promise<History> =>
  client.workflow.getHandle(turn).fetchHistory();

/** All that the server keeps and tells of a turn, byte for byte. */
export async function rawBytes(bench: TestBench, turn: string): Promise<Buffer> {
  const { History } = temporal.api.history.v1;
  const { DescribeWorkflowExecutionResponse } = temporal.api.workflowservice.v1;
  const history = History.encode(await rawHistory(bench, turn)).finish();
  const described = DescribeWorkflowExecutionResponse.encode(await rawDescription(bench, turn)).finish();
  return Buffer.concat([history, described]);
}

/** What the server says of a turn: its memo, and what runs with its heartbeats. */
export const rawDescription = ({ client }: TestBench, workflowId: string) =>
  client.workflowService.describeWorkflowExecution({ namespace: 'default', execution: { workflowId } });
