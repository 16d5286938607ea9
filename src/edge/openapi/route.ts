// How a route is described. To describe a new one, add an entry to the section of its resource (or make a new section: one
// file here, one line in ../openapi.ts). What every route of its sort has (credential, problem answers, request id) is added
// by `operation.ts`, so an entry says only what is its own. A test compares these entries with the routes the app has.

import type { z } from 'zod'
import type { Need } from '../../auth/scopes.ts'
import type { ErrorCode } from '../../protocol/errors.ts'
import type { SharedHeader, SharedParameter } from './shared.ts'

/** A resource and its routes, as one chapter of the document. */
export interface Section {
  tag: string
  text: string
  routes: readonly Route[]
}

export interface Route {
  method: 'get' | 'head' | 'put' | 'post' | 'patch' | 'delete'
  /** The app's path with `{name}` for each `:name` and for `*`; the names are those of `pathParameters` in shared.ts. */
  path: string
  /** A few words in the imperative. */
  summary: string
  /** What the summary leaves open. Markdown. */
  text?: string
  /** The scope it takes; `public` takes no credential, `any` takes one and looks further at what is asked. */
  needs: Need | 'any' | 'root' | 'public'
  /** Query parameters and headers; a name stands for one that several routes share. */
  parameters?: readonly (SharedParameter | Parameter)[]
  body?: Body
  answers: Readonly<Record<number, Answer>>
  /** Codes beyond those that every route of its sort may give; see `operation.ts`. */
  errors?: readonly ErrorCode[]
}

export interface Parameter {
  in: 'query' | 'header'
  name: string
  text: string
  /** JSON Schema. */
  schema: object
}

export interface Body {
  /** May be left out. */
  optional?: boolean
  content: Content
}

export interface Answer {
  text: string
  content?: Content
  headers?: readonly SharedHeader[]
}

/** A JSON schema that is written in zod, or the media type of bytes. */
export type Content = { json: z.ZodType } | { bytes: string }
