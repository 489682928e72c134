import { fileURLToPath } from 'node:url';

export { settingsSchema, type Settings } from './settings.ts';

/** The program of an ingress proxy; its settings are environment variables (settings.ts). */
export const ingressEntry: string = fileURLToPath(new URL(import.meta.url.endsWith('.ts') ? '../dist/main.js' : './main.js', import.meta.url));
