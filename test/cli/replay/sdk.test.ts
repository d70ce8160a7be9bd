import { temporal } from '@temporalio/proto';
import { packHistory, unpackHistory } from '../../../src/cli/replay/sdk';
import { parseExport } from '../../../src/history/exported';
import { exported } from '../../history/exports';

const { History } = temporal.api.history.v1;

it.each(['plain', 'approved', 'in-doubt'])('the history of %s arrives as it was, byte by byte', (kind) => {
  for (const history of parseExport(exported(`${kind}`))) {
    const arrived = unpackHistory(packHistory(history));
    expect(arrived.events).toHaveLength(1);
    const bytes = History.encode(arrived).finish();
    expect(Buffer.from(bytes).equals(History.encode(history).finish())).toBe(true);
  }
});
