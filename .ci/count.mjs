// Reads vitest's JSON report and prints how many tests passed and failed. A file that broke before its tests counts
// as one failure, as none of its tests is in the report.

import { readFileSync } from 'node:fs'

const report = JSON.parse(readFileSync(process.argv[2], 'utf8'))
const broken = report.testResults.filter(
  (file) => file.status === 'failed' && file.assertionResults.length === 0,
)
console.log(report.numPassedTests, report.numFailedTests + broken.length)
