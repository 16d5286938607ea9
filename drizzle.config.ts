// Where drizzle-kit finds the catalog's schema and puts the SQL it makes of it.

import { defineConfig } from 'drizzle-kit'

export default defineConfig({ dialect: 'sqlite', schema: './src/catalog/schema.ts', out: './migrations' })
