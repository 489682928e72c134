/**
 * Whether a write comes from one of the product's own services: it says so by its user (`serviceUser`). Only services may send
 * writes at all (libs/bus, duties), the gateway always names the person who asked, and no person's name starts like that.
 */
export const isInternal = (user: string | undefined): boolean => user?.startsWith('system:roundsman:') === true;

const agents = 'system:node:';
/** As whom the agent of a node writes. */
export const agentUser = (node: string): string => `${agents}${node}`;
/** Whether nobody in particular asked: such writes are many, and no news. */
export const isRoutine = (user: string | undefined): boolean => isInternal(user) || user?.startsWith(agents) === true;
