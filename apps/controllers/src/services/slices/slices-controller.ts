import { serviceKeyOf } from '@roundsman/api';
import { byKey, keysOf, onChange, type Deps, type LoopDefinition } from '../../loop.ts';
import { endpointWakes, podsOf } from '../pods/concerned-services.ts';
import { isServedByPods } from '../pods/service-pods.ts';
import { sliceGroupsOf } from './slice-groups.ts';
import { keepers, labelsOf, managedByLabel, triggerTimeAnnotation } from '../labels.ts';
import { SliceWriter } from './slice-writer.ts';
import { TriggerTimes } from '../pods/trigger-times.ts';

const managedBy = keepers.slices;

/** Keeps the EndpointSlices of services that select pods. Those of services that do not are others' (mirrors of Endpoints, of the cluster itself, of people). */
export function endpointSlices(deps: Deps): LoopDefinition {
  const { caches } = deps;
  const slices = new SliceWriter(deps);
  const times = new TriggerTimes();
  const nodeOf = (name: string) => caches.nodes.get(undefined, name);

  return {
    name: 'endpointslices',
    concurrency: 8,
    keys: keysOf(caches.services),
    wakes: [
      ...endpointWakes(caches),
      // Somebody else wrote one, or took it away.
      onChange(caches.endpointSlices, ({ object, before }) => [object, ...(before === undefined ? [] : [before])].flatMap((slice) => (slice.metadata.labels?.[managedByLabel] === managedBy ? (serviceKeyOf(slice) ?? []) : []))),
    ],
    async reconcile(key) {
      const service = byKey(caches.services, key);
      if (service === undefined || service.metadata.deletionTimestamp !== undefined) {
        // What it owned goes with it.
        times.forget(key);
        return;
      }
      if (!isServedByPods(service)) {
        const own = slices.of(key, managedBy);
        // Without its selector its Endpoints stay as they were: they go on by the mirror of these, and nothing is missing in between.
        if (service.spec.type !== 'ExternalName' && byKey(caches.endpoints, key) !== undefined) return slices.handOver(own, keepers.mirrors);
        return slices.remove(own);
      }
      const pods = podsOf(caches, service);
      const since = times.since(key, service, pods);
      await slices.bring(
        { owner: service, service: service.metadata.name, managedBy, labels: labelsOf(service), annotations: since === undefined ? {} : { [triggerTimeAnnotation]: since } },
        sliceGroupsOf(service, pods, nodeOf),
      );
    },
  };
}
