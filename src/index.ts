/**
 * Define agents and tools, start a worker. Programs that start turns or approve calls use `countersign/client`, which
 * loads nothing native.
 *
 * @module
 */
export { defineTool, type ToolOptions } from './tools/define-tool';
export { agentTool, type AgentToolOptions } from './tools/builtin/agent-tool';
export { defineAgent, type Agent, type AgentOptions } from './tools/define-agent';
export { defineConfig, type Config, type ConfigOptions, type TraceOptions } from './tools/define-config';
export { turnSpanIds, type SpanIds } from './system/traces';
export type { FindToolsOptions } from './tools/builtin/find-tools';
export { createRegistry, type Registry, type ToolFilter } from './tools/registry';
export { askUser, type AskUserOptions } from './tools/builtin/ask-user';
export { createExecutor, type Executor } from './tools/executor';
export { nothingDone, stopped, ToolError, TransportError } from './tools/errors';
export type { Hooks, TurnContext, TurnFacts } from './tools/hooks';
export type { Runner } from './tools/run-handler';
export type { SecretProvider } from './tools/secrets';
export type {
  Approval,
  CallContext,
  Policy,
  PolicyAnswer,
  PolicyCall,
  Tool,
  Verification,
} from './tools/types';
export type { PolicyRule } from './contract/policy-rule';
export { CountersignError, type ErrorCode } from './contract/errors';
export type { Budget, Spent } from './contract/spending/budget';
export type { Preview, FilePlan } from './contract/plan';
export type { ToolFailure, ToolResult } from './contract/result';
export type { Model, ModelFile, ModelReply, ModelRequest } from './models/model';
export { ModelError } from './models/model';
export { offlineModel } from './models/offline';
export { openaiCompatible, type OpenAICompatibleOptions } from './models/openai-compatible';
export { anthropic, google, openai, type ProviderOptions } from './models/providers';
export { scriptedModel, type ScriptedStep } from './models/scripted';
export { createWorkspaceTools, type WorkspaceOptions } from './tools/workspace';
export { createShellTools, type ShellOptions } from './tools/shell-tools';
export {
  sandbox,
  type Sandbox,
  type SandboxCommand,
  type SandboxedProcess,
  type SandboxLimits,
  type SandboxOptions,
} from './tools/sandbox';
export { createEvalTools, type EvalOptions } from './tools/eval';
export { createHttpTools, type HttpOptions } from './tools/http';
export { createLispTools, type LispOptions } from './tools/lisp';
export { loadEncryption, type Encryption } from './encryption/load';
export type { EncryptionOptions } from './encryption/keys';
export { bundleWorkflows, type BundleWorkflowsOptions } from './worker/bundle-workflows';
export { createWorkerOptions, type CreateWorkerOptions } from './worker/options';
export type { OwnWorkerOptions } from './worker/settings';
export { startWorker, type RunningWorker, type WorkerSettings } from './worker';
export type {
  McpAddress,
  McpCommand,
  McpOAuth,
  McpServers,
  McpToolSettings,
  McpValue,
} from './tools/mcp/declare';
