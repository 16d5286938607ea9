// Figures as a table that a person reads: what, measured, target, verdict.

import { type Figure, isMet } from '../suite.ts'

export function table(figures: readonly Figure[]): string {
  const rows = figures.map((figure) => [
    figure.what,
    number(figure.measured, figure.unit),
    figure.target === undefined ? '' : target(figure.target, figure.unit),
    verdict(figure),
    figure.note ?? '',
  ])
  const widths = [0, 1, 2, 3].map((column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)))
  return rows
    .map((row) => {
      const cells = row.map((cell, column) => {
        const width = widths[column] ?? 0
        return column === 1 ? cell.padStart(width) : cell.padEnd(width)
      })
      return `  ${cells.join('  ')}`.trimEnd()
    })
    .join('\n')
}

function target(wanted: NonNullable<Figure['target']>, unit: string): string {
  return 'atLeast' in wanted ? `>= ${number(wanted.atLeast, unit)}` : `<= ${number(wanted.atMost, unit)}`
}

function verdict(figure: Figure): string {
  const met = isMet(figure)
  return met === null ? 'for information' : met ? 'met' : 'MISSED'
}

function number(value: number, unit: string): string {
  const digits = Number.isInteger(value) || value >= 100 ? 0 : 2
  const text = value.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits })
  return unit === 'x' ? `${text}x` : `${text} ${unit}`
}
