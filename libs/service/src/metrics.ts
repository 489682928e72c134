import { AggregatorRegistry, Registry, collectDefaultMetrics } from 'prom-client';
import { measureEventLoop, neverSampledMs } from './event-loop-lag.ts';

/**
 * The metrics of one process. Services share it; a service that runs several times in one process (a virtual node each)
 * gets a registry of its own per instance, labelled `instance`, so that equal metric names do not collide.
 */
export class ProcessMetrics extends Registry {
  readonly #instances = new Map<string, Registry>();

  constructor() {
    super();
    collectDefaultMetrics({ register: this, eventLoopMonitoringPrecision: neverSampledMs });
    measureEventLoop(this);
  }

  forInstance(instance: string): Registry {
    let registry = this.#instances.get(instance);
    if (!registry) {
      registry = new Registry();
      registry.setDefaultLabels({ instance });
      this.#instances.set(instance, registry);
    }
    return registry;
  }

  override async metrics(): Promise<string> {
    if (this.#instances.size === 0) return super.metrics();
    const instances = await Promise.all([...this.#instances.values()].map((registry) => registry.getMetricsAsJSON()));
    return (await super.metrics()) + (await AggregatorRegistry.aggregate(instances).metrics());
  }
}
