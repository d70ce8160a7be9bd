export type Suite = 'jsonSchema' | 'functionCalls' | 'json';
export function takeSuite(name: Suite): string;
