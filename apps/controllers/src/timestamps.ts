/** RFC 3339 with whole seconds, as all times in a status. */
export const wholeSeconds = (ms: number): string => `${new Date(Math.floor(ms / 1000) * 1000).toISOString().slice(0, 19)}Z`;
