import type { Node } from '@roundsman/api';
import type { NodeInfo } from '../cluster/node-info.ts';
import { best, type Score } from './score.ts';

const mebibyte = 1024 ** 2;
/** Less than this is not worth preferring a node for. */
const least = 23 * mebibyte;
/** Of one container; more than this is not better. */
const most = 1000 * mebibyte;

/** Bytes of the pod's images that are on the node; an image counts the more the more nodes have it, so that one node is not swamped. */
export const imageLocality: Score = {
  name: 'ImageLocality',
  weight: 1,
  of: ({ pod }, nodes, cluster) => {
    const containers = [...(pod.spec.initContainers ?? []), ...pod.spec.containers];
    const images = containers.map(({ image = '' }) => withTag(image));
    const spread = new Map(images.map((image) => [image, cluster.nodes.filter((node) => sizeOf(node, image) > 0).length / cluster.nodes.length]));
    if ([...spread.values()].every((part) => part === 0)) return undefined;
    const highest = most * containers.length;
    return nodes.map((node) => {
      const bytes = images.reduce((sum, image) => sum + Math.trunc(sizeOf(node, image) * (spread.get(image) ?? 0)), 0);
      return Math.floor((best * (Math.min(Math.max(bytes, least), highest) - least)) / (highest - least));
    });
  },
};

const withTag = (image: string): string => (image.lastIndexOf(':') <= image.lastIndexOf('/') ? `${image}:latest` : image);

/** Worked out once for each version of a node. */
const sizes = new WeakMap<Node, ReadonlyMap<string, number>>();
function sizeOf({ node }: NodeInfo, image: string): number {
  let known = sizes.get(node);
  if (known === undefined) {
    known = new Map((node.status?.images ?? []).flatMap(({ names = [], sizeBytes = 0 }) => names.map((name): [string, number] => [name, sizeBytes])));
    sizes.set(node, known);
  }
  return known.get(image) ?? 0;
}
