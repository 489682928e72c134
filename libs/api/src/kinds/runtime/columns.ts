import { ageColumn, column, nameColumn, numberAt, textAt } from '../../columns.ts';
import type { Column } from '../../kind.ts';
import type { KubeObject } from '../../meta.ts';
import type { Runtime, RuntimePaths } from './schema.ts';

const of = (object: KubeObject): Partial<Runtime> => object as unknown as Partial<Runtime>;
const pathsOf = (object: KubeObject): RuntimePaths | undefined => of(object).status?.paths;

const readyText = (object: KubeObject): string => `${numberAt(object, 'status', 'ready') ?? 0}/${numberAt(object, 'status', 'desired') ?? 0}`;

/** `netreach/mesh`, or all that have no runtime of their own. */
function taskText(object: KubeObject): string {
  const task = of(object).spec?.task;
  return task === undefined ? '<all>' : `${task.kind.toLowerCase()}/${task.name}`;
}

const listed = (texts: readonly (string | undefined)[]): string | null => texts.filter((text) => text !== undefined && text !== '').join(',') || null;
const balancerText = ({ ip, hostname }: { readonly ip?: string | undefined; readonly hostname?: string | undefined }): string | undefined => ip ?? hostname;

/** Why not all of it is ready: what its Ready condition says, else what the first runner that is not ready does. */
function problemText(object: KubeObject): string | null {
  const { conditions = [], runners = [] } = of(object).status ?? {};
  const ready = conditions.find(({ type }) => type === 'Ready');
  if (ready !== undefined && ready.status !== 'True' && ready.message) return ready.message;
  return runners.find((runner) => !runner.ready)?.reason ?? null;
}

export const runtimeColumns: readonly Column[] = [
  nameColumn,
  column('Kind', 'string', 'Kind of the workload', (object) => textAt(object, 'spec', 'kind') ?? null),
  column('Ready', 'string', 'Ready runners of those there are to be', readyText),
  column('Phase', 'string', 'How it is', (object) => textAt(object, 'status', 'phase') ?? 'Creating'),
  column('Task', 'string', 'The task that it carries', taskText),
  ageColumn,
  column('Problem', 'string', 'Why not all of it is ready', problemText),
  column('Workload', 'string', 'Name of the workload', (object) => textAt(object, 'spec', 'workload') ?? null, { wide: true }),
  column('Cluster-IP', 'string', 'Cluster addresses of its Services', (object) => listed((pathsOf(object)?.services ?? []).map(({ clusterIP }) => clusterIP)), { wide: true }),
  column('External-IP', 'string', 'Addresses of its load balancers', (object) => listed((pathsOf(object)?.services ?? []).flatMap(({ loadBalancer = [] }) => loadBalancer.map(balancerText))), { wide: true }),
  column('Ingress', 'string', 'Where its Ingress answers', (object) => listed((pathsOf(object)?.ingress?.addresses ?? []).map(balancerText)), { wide: true }),
];
