import { fileURLToPath } from 'node:url';
import type { ServiceContext, ServiceDefinition } from '@roundsman/service';
import { builtFile } from './built-file.ts';
import { runnerConfigSchema, type RunnerConfig } from './config.ts';
import { version } from './version.ts';

export { runnerConfigSchema, echoServiceName, type RunnerConfig } from './config.ts';
export { echoSettingsSchema } from './echo-settings.ts';
export { Runner, type RunnerOptions } from './runner.ts';

/** Nest's module of a runner; plain, so that a runner that is a process of its own needs no Nest. */
class ProbeRunnerModule {}

/** Starts and stops the runner with the application around it. */
class RunnerLifecycle {
  readonly #context: ServiceContext<RunnerConfig>;
  #stop: () => Promise<void> = () => Promise.resolve();

  constructor(context: ServiceContext<RunnerConfig>) {
    this.#context = context;
  }

  async onApplicationBootstrap(): Promise<void> {
    const { config, bus, log, metrics, health } = this.#context;
    const [{ Runner }, { registerMetrics }] = await Promise.all([import('./runner.ts'), import('./metrics.ts')]);
    const runner = new Runner({ config, bus, log, version });
    let problem: string | undefined = 'it starts';
    health.add({ name: 'probe-runner/echo', problem: () => problem });
    registerMetrics(metrics, runner);
    this.#stop = () => runner.stop();
    await runner.start();
    problem = undefined;
  }

  async onApplicationShutdown(): Promise<void> {
    await this.#stop();
  }
}

/** A runner within a process with other services. Normally it is a process of its own: `runnerEntry`. */
export const service: ServiceDefinition<RunnerConfig> = {
  name: 'probe-runner',
  config: runnerConfigSchema as unknown as ServiceDefinition<RunnerConfig>['config'],
  needsDatabase: false,
  module: (context) => ({ module: ProbeRunnerModule, providers: [{ provide: RunnerLifecycle, useFactory: () => new RunnerLifecycle(context) }] }),
};

/** The program of a runner process; its settings are environment variables (main.ts lists them). */
export const runnerEntry: string = fileURLToPath(builtFile('main'));
/** The program that is an echo target and nothing else; its settings are in echo-main.ts. */
export const echoEntry: string = fileURLToPath(builtFile('echo-main'));
/** Node flags for a runner process: it idles most of its life beside others, and gives back what a round took (the pool would keep 15 MiB). */
export const runnerNodeFlags: readonly string[] = ['--max-semi-space-size=1', '--optimize-for-size', '--v8-pool-size=1', '--no-memory-pool'];
/** Programs of this app, as files of its `dist` without ending: what the image holds (deploy/images); whatever is started by its file name must be here. */
export const runnerPrograms: readonly string[] = ['main', 'echo-main', 'round/worker', 'echo/certificate-maker'];
