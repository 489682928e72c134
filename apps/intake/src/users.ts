/**
 * Whether a write comes from one of the product's own services: they name nobody, or `system:roundsman:<service>`. The gateway
 * always names the person who asked, and no person's name starts like that.
 */
export const isInternal = (user: string | undefined): boolean => user === undefined || user.startsWith('system:roundsman:');
