// How `/docs` looks: the reader's own fonts and their choice of light or dark; one column on a phone.

export const style = `
:root {
  color-scheme: light dark;
  --ink: light-dark(#1c1b19, #e9e6df);
  --soft: light-dark(#5d5a53, #a8a399);
  --line: light-dark(#dedad0, #3a3733);
  --paper: light-dark(#fbfaf7, #191816);
  --panel: light-dark(#ffffff, #211f1c);
  --link: light-dark(#7a3b12, #f0a36b);
  --get: light-dark(#1d6b3a, #7fd69d);
  --post: light-dark(#1f4fa3, #8fb6ff);
  --put: light-dark(#7a4a00, #efbf6a);
  --patch: light-dark(#6b3fa0, #c9a7f5);
  --delete: light-dark(#a3261c, #ff998f);
}
* { box-sizing: border-box; }
body { margin: 0; font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); }
code, pre, textarea, .path, .type { font-family: ui-monospace, Menlo, Consolas, monospace; font-size: .875rem; }
a { color: var(--link); }
:focus-visible { outline: 2px solid var(--link); outline-offset: 2px; }
.skip { position: absolute; left: -100vw; }
.skip:focus { left: 1rem; top: 1rem; background: var(--panel); padding: .5rem; z-index: 2; }
header { position: sticky; top: 0; z-index: 1; display: flex; flex-wrap: wrap; gap: .75rem 1.5rem; align-items: center;
  padding: .75rem 1.5rem; background: var(--panel); border-bottom: 1px solid var(--line); }
header h1 { font-size: 1.125rem; margin: 0; }
header p { margin: 0; color: var(--soft); font-size: .875rem; }
header label { margin-left: auto; }
.layout { display: grid; grid-template-columns: 15rem minmax(0, 1fr); max-width: 80rem; margin: 0 auto; }
nav { position: sticky; top: 4rem; align-self: start; max-height: calc(100vh - 4rem); overflow: auto; padding: 1.25rem 1rem; font-size: .875rem; }
nav ul { list-style: none; margin: .5rem 0 0; padding: 0; }
nav li a { display: block; padding: .2rem .5rem; border-radius: .25rem; text-decoration: none; }
nav li a:hover { background: var(--line); }
main { padding: 1.25rem 1.5rem 6rem; min-width: 0; }
h2 { font-size: 1.25rem; margin: 2rem 0 .25rem; scroll-margin-top: 5rem; }
h3 { font-size: .875rem; margin: 1.25rem 0 .25rem; color: var(--soft); }
main > p:first-child { margin-top: 0; }
details { background: var(--panel); border: 1px solid var(--line); border-radius: .375rem; margin: .5rem 0; scroll-margin-top: 5rem; }
summary { display: flex; flex-wrap: wrap; gap: .25rem .75rem; align-items: baseline; padding: .5rem .75rem; cursor: pointer; }
summary .says { color: var(--soft); }
.path { overflow-wrap: anywhere; }
.body { padding: 0 .75rem .75rem; border-top: 1px solid var(--line); }
.method { font: 600 .75rem/1.6 ui-monospace, Menlo, Consolas, monospace; width: 3.75rem; text-transform: uppercase; }
.get, .head { color: var(--get); } .post { color: var(--post); } .put { color: var(--put); }
.patch { color: var(--patch); } .delete { color: var(--delete); }
dl { margin: .25rem 0; }
dl dl { margin-left: .5rem; padding-left: .75rem; border-left: 2px solid var(--line); }
dt { margin-top: .375rem; overflow-wrap: anywhere; }
dd { margin: 0 0 0 1rem; color: var(--soft); font-size: .9375rem; overflow-wrap: anywhere; }
.type { color: var(--soft); }
.needed { color: var(--delete); font-size: .8125rem; }
form { margin-top: 1rem; padding-top: .25rem; border-top: 1px dashed var(--line); }
.fields { display: grid; grid-template-columns: repeat(auto-fill, minmax(14rem, 1fr)); gap: .5rem .75rem; }
label { font-size: .875rem; color: var(--soft); }
.fields label, form > label { display: block; }
input, textarea, select, button { font: inherit; font-size: .875rem; color: inherit; background: var(--paper); border: 1px solid var(--soft); border-radius: .25rem; padding: .3rem .5rem; }
.fields input, textarea { display: block; width: 100%; }
textarea { min-height: 7rem; }
button { margin: .75rem 0 0; padding: .35rem 1rem; cursor: pointer; border-color: var(--link); color: var(--link); font-weight: 600; }
pre { margin: .75rem 0 0; padding: .75rem; overflow: auto; max-height: 28rem; background: var(--paper); border: 1px solid var(--line); border-radius: .25rem; white-space: pre-wrap; overflow-wrap: anywhere; }
@media (max-width: 48rem) {
  .layout { display: block; }
  nav { position: static; max-height: none; padding-bottom: 0; }
  nav ul { display: flex; flex-wrap: wrap; }
  header { position: static; }
  header label { margin-left: 0; }
}
`
