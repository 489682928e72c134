import type { Served, Stored } from './reader.ts';

/** One object, as the path names it. */
export interface Target {
  readonly served: Served & { readonly stored: Stored };
  readonly namespace: string | undefined;
  readonly name: string;
  readonly subresource?: 'status' | 'scale' | undefined;
}
