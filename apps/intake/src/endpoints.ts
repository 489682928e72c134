import { ApiError, serviceUnavailable } from '@roundsman/api';
import { endpoint, messages, ServiceError, type Endpoint } from '@roundsman/bus';
import type { Store } from '@roundsman/store';
import { admitFromNode, requestOf } from './admission/from-node.ts';
import type { AdmissionView } from './admission/outcome.ts';
import type { GroupCommit, WriteReply } from './group-commit.ts';
import type { NetworkAnnouncer } from './network/announcer.ts';
import type { Nodes } from './nodes.ts';
import * as reads from './reads.ts';
import type { State } from './state.ts';

export interface EndpointPorts {
  readonly state: State;
  readonly store: Store;
  readonly group: GroupCommit;
  readonly nodes: Nodes;
  readonly network: NetworkAnnouncer;
  readonly view: () => AdmissionView;
  /** False once somebody else may lead: nothing may be answered then. */
  readonly leading: () => boolean;
}

/** What intake answers on the bus. Whose node an agent speaks for is in the subject, which only that agent may send to. */
export function endpointsOf({ state, store, group, nodes, network, view, leading }: EndpointPorts): Endpoint<never, unknown>[] {
  const answer = async <A>(reply: () => A | Promise<A>): Promise<never> => {
    try {
      if (!leading()) throw serviceUnavailable('this intake is no longer the leader');
      // Objects are as the bus describes them; their types here say more.
      return (await reply()) as never;
    } catch (error) {
      if (error instanceof ApiError) throw new ServiceError(error.code, error.message, error.status);
      throw error;
    }
  };
  const node = (params: Record<string, string>): string => params['node'] as string;
  return [
    endpoint(messages.write, (write) => answer<WriteReply>(() => group.submit(write))),
    endpoint(messages.get, (request) => answer(() => reads.get(state, request))),
    endpoint(messages.list, (request) => answer(() => reads.list(state, request))),
    endpoint(messages.changes, (request) => answer(() => reads.changes(store, request))),
    endpoint(messages.nodePods, (request, params) => answer(() => nodes.pods(node(params), request))),
    endpoint(messages.nodeVolumes, (request, params) => answer(() => nodes.volumes(node(params), request))),
    endpoint(messages.nodeMaterials, (request, params) => answer(() => nodes.materials(node(params), request))),
    endpoint(messages.networkState, (request) => answer(() => network.page(request))),
    endpoint(messages.ingressSecrets, (request) => answer(() => network.secrets(request))),
    endpoint(messages.nodeWrite, (asked, params) =>
      answer(async () => {
        const { object } = await group.submit(requestOf(node(params), asked), () => admitFromNode(node(params), asked, view()));
        return { object };
      }),
    ),
  ];
}
