// The language of Lares, as the edge, the object, the SDK and the CLI share it.

export * from './canonical.ts'
export * from './digests.ts'
export * from './errors.ts'
export * from './limits.ts'
export * from './merge-patch.ts'
export * from './names.ts'
export * from './ops.ts'
export * from './paging.ts'
export * from './refs.ts'
export * from './resources.ts'
export * from './values.ts'
