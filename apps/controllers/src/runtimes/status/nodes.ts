import type { Node } from '@roundsman/api';

/** Its condition Ready. */
export const readyOf = ({ status }: Node) => status?.conditions?.find(({ type }) => type === 'Ready');

/** Nodes that are not ready, by name: since when, milliseconds. One that nothing was heard of so far is none of them. */
export const lostNodes = (nodes: readonly Node[]): Map<string, number> =>
  new Map(
    nodes.flatMap((node): [string, number][] => {
      const { status, lastTransitionTime } = readyOf(node) ?? {};
      const sinceMs = Date.parse(lastTransitionTime ?? '');
      return status === undefined || status === 'True' || Number.isNaN(sinceMs) ? [] : [[node.metadata.name, sinceMs]];
    }),
  );
