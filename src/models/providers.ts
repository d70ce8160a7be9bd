import type { LanguageModelV3, LanguageModelV3CallOptions } from '@ai-sdk/provider';
import { z } from 'zod';
import { defined } from '../contract/defined';
import { CountersignError } from '../contract/errors';
import type { JsonObject } from '../contract/json';
import { MODEL_PROVIDERS } from '../contract/names';
import {
  HTTP_MODEL_OPTIONS,
  type HttpModelKind,
  type HttpModelSettings,
  parseOptions,
  toSettings,
} from './http-settings';
import { type Agent, modelsOf } from '../tools/define-agent';
import type { Model } from './model';
import { idFormOf } from './call-ids';
import { sdkModel } from './sdk-model';
import { installedVersion } from '../system/installed-version';

type ModelProvider = (typeof MODEL_PROVIDERS)[number];

/** The package of a provider, and how its models are made. */
interface Provider
  extends HttpModelKind, Pick<Parameters<typeof sdkModel>[0], 'tool' | 'cacheMark' | 'schemas'> {
  name: ModelProvider;
  baseUrl: string;
  package: string;
  defaults: JsonObject;
  /** Further defaults where `baseUrl` is not the provider's own. */
  elsewhere?: JsonObject;
  load(connection: Connection, model: string): Promise<LanguageModelV3>;
}

interface Connection {
  baseURL: string;
  apiKey: string;
  headers: Record<string, string>;
  fetch: typeof globalThis.fetch;
}

/** If a conversation has another kind of image, the provider refuses the whole conversation. */
const IMAGES_AND_PDF = ['image/png', 'image/jpeg', 'image/gif', 'image/webp', 'application/pdf'];

const PROVIDERS: Readonly<Record<ModelProvider, Provider>> = {
  openai: {
    name: 'openai',
    baseUrl: 'https://api.openai.com/v1',
    keys: ['OPENAI_API_KEY'],
    package: '@ai-sdk/openai',
    takes: IMAGES_AND_PDF,
    // A conversation may wait for weeks, and the provider deletes stored data after 30 days.
    defaults: { store: false },
    schemas: 'flat',
    // Without this the provider makes every optional argument one that has to be there.
    tool: { strict: false },
    load: async (connection, model) =>
      (await import('@ai-sdk/openai')).createOpenAI(connection).responses(model),
  },
  anthropic: {
    name: 'anthropic',
    baseUrl: 'https://api.anthropic.com/v1',
    keys: ['ANTHROPIC_API_KEY'],
    package: '@ai-sdk/anthropic',
    takes: IMAGES_AND_PDF,
    defaults: {},
    schemas: 'flat',
    // The package would add a field to each tool that strict gateways refuse.
    elsewhere: { toolStreaming: false },
    cacheMark: { anthropic: { cacheControl: { type: 'ephemeral' } } },
    load: async (connection, model) =>
      (await import('@ai-sdk/anthropic')).createAnthropic(connection).languageModel(model),
  },
  google: {
    name: 'google',
    baseUrl: 'https://generativelanguage.googleapis.com/v1beta',
    keys: ['GOOGLE_GENERATIVE_AI_API_KEY', 'GEMINI_API_KEY'],
    package: '@ai-sdk/google',
    takes: ['image/*', 'application/pdf', 'audio/*', 'video/*'],
    defaults: {},
    schemas: 'gemini',
    load: async (connection, model) =>
      (await import('@ai-sdk/google')).createGoogleGenerativeAI(connection).languageModel(model),
  },
};

const schema = z.strictObject({
  ...HTTP_MODEL_OPTIONS,
  /** Another address of the provider's API, such as a proxy's. @default the provider's own */
  baseUrl: z.string().optional(),
  /** The most tokens of one reply, thinking included. @default what the provider's package knows of the model */
  maxOutputTokens: z.int().positive().optional(),
  /**
   * The provider's own settings, as its package takes them: `{ reasoningEffort: 'high' }` for `openai`,
   * `{ thinking: { type: 'enabled', budgetTokens: 8000 } }` for `anthropic`,
   * `{ thinkingConfig: { thinkingBudget: 8000 } }` for `google`.
   *
   * @default { store: false } for `openai`, { toolStreaming: false } for `anthropic` with another `baseUrl`
   */
  settings: z.record(z.string(), z.json()).optional(),
  /**
   * Only `anthropic`: marks the part that the next request repeats, so that the provider reads that part from its
   * cache.
   * @default true
   */
  cache: z.boolean().optional(),
});

/** The options of `openai`, `anthropic` and `google`. */
export interface ProviderOptions extends z.input<typeof schema> {}

/**
 * A model of OpenAI, by its Responses API. It needs the package `@ai-sdk/openai`; the key is `OPENAI_API_KEY` unless
 * `apiKey` says otherwise.
 *
 * @throws CountersignError `config_invalid` for wrong options and for a key that is not there, `not_installed`.
 * @example openai({ model: 'gpt-5', settings: { reasoningEffort: 'high' } })
 */
export function openai(options: ProviderOptions): Model {
  return providerModel('openai', options);
}

/**
 * A model of Anthropic, by its Messages API. It needs the package `@ai-sdk/anthropic`; the key is `ANTHROPIC_API_KEY`
 * unless `apiKey` says otherwise.
 *
 * @throws CountersignError `config_invalid` for wrong options and for a key that is not there, `not_installed`.
 * @example anthropic({ model: 'claude-sonnet-4-5', settings: { thinking: { type: 'enabled', budgetTokens: 8000 } } })
 */
export function anthropic(options: ProviderOptions): Model {
  return providerModel('anthropic', options);
}

/**
 * A model of Google, by the Gemini API. It needs the package `@ai-sdk/google`; the key is `GOOGLE_GENERATIVE_AI_API_KEY`
 * or `GEMINI_API_KEY` unless `apiKey` says otherwise.
 *
 * @throws CountersignError `config_invalid` for wrong options and for a key that is not there, `not_installed`.
 * @example google({ model: 'gemini-2.5-pro' })
 */
export function google(options: ProviderOptions): Model {
  return providerModel('google', options);
}

const NAMED = new RegExp(`^(${MODEL_PROVIDERS.join('|')}):(.+)$`, 's');

/** Each model is made once in a process: the same name gives the same model. */
const named = new Map<string, Model>();

/**
 * The model with a name `provider:model`. A model is returned as it is.
 *
 * @throws CountersignError `config_invalid` if no provider has that name or its key is not set, `not_installed`.
 */
export function modelOf(model: Model | string): Model {
  if (typeof model !== 'string') return model;
  const known = named.get(model) ?? makeNamed(model);
  named.set(model, known);
  return known;
}

/**
 * Makes every model that agents name, so that a missing key or package shows before a model is called.
 *
 * @throws CountersignError as `modelOf`.
 */
export function requireModels(agents: readonly Agent[]): void {
  for (const agent of agents) modelsOf(agent).forEach(modelOf);
}

function makeNamed(name: string): Model {
  const [, provider, model = ''] = NAMED.exec(name) ?? [];
  const found = MODEL_PROVIDERS.find((one) => one === provider);
  if (found !== undefined) return providerModel(found, { model });
  throw new CountersignError(
    'config_invalid',
    `no provider has a model named ${JSON.stringify(name)}`,
    `Write provider:model; the providers are ${MODEL_PROVIDERS.join(', ')}.`,
  );
}

function providerModel(name: ModelProvider, given: ProviderOptions): Model {
  const provider = PROVIDERS[name];
  const options = parseOptions(provider, schema, given);
  requirePackage(provider);
  const settings = toSettings({ ...provider, id: (model) => `${name}:${model}` }, { stream: true, ...given });
  const { maxOutputTokens, cache = true } = options;
  const { host } = new URL(settings.baseUrl);
  const isElsewhere = host !== new URL(provider.baseUrl).host;
  const own = { ...provider.defaults, ...(isElsewhere ? provider.elsewhere : {}), ...options.settings };
  const call: Partial<LanguageModelV3CallOptions> = {
    maxOutputTokens,
    providerOptions: Object.keys(own).length === 0 ? undefined : { [name]: own },
  };
  return sdkModel({
    settings,
    provider: name,
    call,
    ids: idFormOf(settings.model, host),
    tool: provider.tool,
    by: `${name}:${settings.model}@${host}`,
    load: (fetch) => provider.load(connectionOf(settings, fetch), settings.model),
    schemas: provider.schemas,
    ...(cache ? defined({ cacheMark: provider.cacheMark }) : {}),
  });
}

function connectionOf(
  { baseUrl, apiKey = '', headers }: HttpModelSettings,
  fetch: Connection['fetch'],
): Connection {
  return { baseURL: baseUrl, apiKey, headers, fetch };
}

/** Checks the version of a package. Other versions use another protocol of the AI SDK. */
function requirePackage({ name, package: wanted }: Provider) {
  const version = installedVersion(wanted);
  if (version?.startsWith('3.') === true) return;
  const why = version === undefined ? 'is not installed' : `is version ${version}, and not 3`;
  throw new CountersignError('not_installed', `models of ${name} need ${wanted}, which ${why}`, {
    hint: `Run: npm install ${wanted}@3`,
    data: { name: wanted },
  });
}
