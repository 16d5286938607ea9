export const docsPage = ''
