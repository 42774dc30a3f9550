const THIS_MACHINE = ['127.0.0.1', 'localhost', '::1', '[::1]']

/** Whether what is sent to a host, as it stands in an address or by itself, goes over no network. */
export const isThisMachine = (host: string): boolean => THIS_MACHINE.includes(host.toLowerCase())
