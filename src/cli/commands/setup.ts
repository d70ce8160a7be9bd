import type { Command } from 'commander';
import type { Context } from '../context';
import { escapeText } from '../print/escape';

/** `setup`. */
export function addSetup(program: Command, context: Context): void {
  program
    .command('setup')
    .description('register the search attributes that turns need; a worker does it too')
    .option('--json', 'print JSON')
    .action((options: { json?: boolean }) => setup(options, context));
}

async function setup({ json }: { json?: boolean }, { screen, withClient }: Context): Promise<void> {
  const { ensureAttributes } = await import('../../engine/search-attributes.js');
  await withClient(async ({ client, namespace }) => {
    screen.note('waiting until queries take each attribute; some seconds');
    const registered = await ensureAttributes({ connection: client.connection, namespace });
    if (json === true) screen.json({ namespace, registered });
    else if (registered.length === 0) screen.line(`${escapeText(namespace)} has all search attributes`);
    else screen.line(`${escapeText(namespace)} now has ${registered.join(', ')}`);
  });
}
