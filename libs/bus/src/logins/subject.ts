/** Where a NATS server asks, in the account of its clients, whether to let somebody in. */
export const loginSubject = '$SYS.REQ.USER.AUTH';
