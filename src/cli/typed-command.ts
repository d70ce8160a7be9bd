import { Command, type HelpContext } from 'commander';
import { usageError } from '../contract/errors';

/** A command whose mistakes are errors of ours, and name the help of the command that was typed. */
export class TypedCommand extends Command {
  override createCommand(name?: string): Command {
    return new TypedCommand(name);
  }

  override error(message: string): never {
    const names = [this.name()];
    for (let above = this.parent; above !== null; above = above.parent) names.unshift(above.name());
    const aboutIds = /unknown option '-[^-]/.test(message)
      ? 'An id begins with a letter or a digit, never with "-". '
      : '';
    throw usageError(message.replace(/^error: /, ''), `${aboutIds}See \`${names.join(' ')} --help\`.`);
  }

  /** Without a context, somebody asked for it. */
  override help(context?: HelpContext | ((text: string) => string)): never {
    if (typeof context === 'object' && context.error) this.error('no command was given');
    return super.help();
  }
}
