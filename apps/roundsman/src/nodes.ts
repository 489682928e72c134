/** Names of the virtual nodes: `node-1` ... */
export const nodeNames = (count: number): string[] => Array.from({ length: count }, (_, index) => `node-${index + 1}`);

/** Name of the probe-runner of the default runtime on a node. */
export const runnerOf = (node: string): string => `default-${node}`;
