import { readFileSync } from 'node:fs';

/** Of the workspace: one version for the whole product. */
export const version: string = (JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8')) as { version: string }).version;
