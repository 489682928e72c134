import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { settingsSchema } from '@roundsman/ingress';
import { echoSettingsSchema } from '@roundsman/probe-runner';
import { processSettings, settingName } from '@roundsman/service';
import { loadServices, serviceNames } from './services.ts';

const keysOf = (config: unknown): string[] => Object.keys((config as { def: { shape: object } }).def.shape);
const page = readFileSync(new URL('../../../docs/settings.md', import.meta.url), 'utf8');

describe('docs/settings.md', () => {
  it('names every setting there is, and no other', async () => {
    const definitions = await loadServices(serviceNames);
    // What a runner reads has names of its own (probe-runner/src/main.ts); its settings are no service's.
    const runner = keysOf(definitions.find(({ name }) => name === 'probe-runner')!.config);
    const short: Record<string, string> = { node: 'ROUNDSMAN_NODE', runtime: 'ROUNDSMAN_RUNTIME', dataDir: 'ROUNDSMAN_DATA_DIR', bindAddresses: 'ROUNDSMAN_BIND_ADDRESSES' };
    const wanted = new Set<string>([
      ...processSettings.filter((name) => name !== 'ROUNDSMAN_TEST_LOG'),
      ...definitions.filter(({ name }) => name !== 'probe-runner').flatMap(({ name, config }) => keysOf(config).map((key) => settingName(name, key))),
      ...keysOf(settingsSchema).map((key) => settingName('ingress', key)),
      ...runner.map((key) => short[key] ?? settingName('runner', key)),
      ...keysOf(echoSettingsSchema).map((key) => settingName('echo', key)),
      'ROUNDSMAN_NATS_SEED_FILE', 'ROUNDSMAN_NATS_TOKEN_FILE', 'ROUNDSMAN_NATS_IDENTITY',
    ]);
    const named = new Set(page.match(/ROUNDSMAN_[A-Z_]*[A-Z]/g)!.filter((name) => !['ROUNDSMAN_INTAKE_TARGET', 'ROUNDSMAN_NODE_AGENT', 'ROUNDSMAN_INGRESS', 'ROUNDSMAN_RUNNER'].includes(name)));
    expect([...named].sort()).toEqual([...wanted].sort());
  });
});
