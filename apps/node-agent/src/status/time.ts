/** RFC 3339 with whole seconds, as Kubernetes writes times. */
export const timeText = (epochMs: number): string => `${new Date(epochMs).toISOString().slice(0, 19)}Z`;
