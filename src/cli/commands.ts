import type { Command } from 'commander';
import { addAnswer } from './commands/answer';
import { addApprove } from './commands/approve';
import { addApprovers } from './commands/approvers';
import { addAudit } from './commands/audit';
import { addCancel } from './commands/cancel';
import { addChat } from './commands/chat';
import { addAskAgain } from './commands/ask-again';
import { addDeny } from './commands/deny';
import { addDev } from './commands/dev';
import { addDeploy } from './commands/deploy';
import { addDoctor } from './commands/doctor';
import { addFork } from './commands/fork';
import { addExport } from './commands/export';
import { addGrants } from './commands/grants';
import { addHook } from './commands/hook';
import { addInbox } from './commands/inbox';
import { addInit } from './commands/init';
import { addList } from './commands/list';
import { addMcp } from './commands/mcp';
import { addPolicy } from './commands/policy';
import { addPause, addResume } from './commands/pause';
import { addReset } from './commands/reset';
import { addReplay } from './commands/replay';
import { addResolve } from './commands/resolve';
import { addReview } from './commands/review';
import { addRun, addSend } from './commands/run';
import { addShow } from './commands/show';
import { addWatch } from './commands/watch';
import { addStats } from './commands/stats';
import { addWeb } from './commands/web';
import { addWithdraw } from './commands/withdraw';
import { addWorker } from './commands/worker';
import type { Context } from './context';

/** Adds a command to the program. */
type AddCommand = (program: Command, context: Context) => void;

/** The commands by groups, in the order in which the help names them. A feature adds its own to one of them. */
export const COMMANDS: Readonly<Record<string, readonly AddCommand[]>> = {
  'First steps': [addInit, addDev, addRun, addChat, addSend],
  Decide: [addInbox, addReview, addApprove, addDeny, addAnswer, addResolve, addWithdraw, addAskAgain],
  Look: [addShow, addList, addStats, addReplay, addExport],
  Operate: [
    addWorker,
    addWeb,
    addWatch,
    addCancel,
    addPause,
    addResume,
    addFork,
    addReset,
    addDeploy,
    addMcp,
    addHook,
    addDoctor,
  ],
  Rules: [addApprovers, addPolicy, addGrants, addAudit],
};
