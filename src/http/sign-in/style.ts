/** Of all pages: one column, as wide as a phone; fields of 16px, below which phones zoom in. */
export const STYLE = `
:root {
  color-scheme: light dark;
  --back: #f4f5f7; --card: #fff; --text: #16181d; --quiet: #5b6270; --line: #cfd4dc; --field: #7d8695;
  --accent: #1d4ed8; --on-accent: #fff; --bad: #b42318; --bad-back: #fef3f2;
}
@media (prefers-color-scheme: dark) {
  :root {
    --back: #0f1115; --card: #181b21; --text: #eceef2; --quiet: #a0a8b6; --line: #3a414d; --field: #6f7887;
    --accent: #7aa2ff; --on-accent: #0b1020; --bad: #ffb4ab; --bad-back: #3a1614;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0; min-height: 100vh; min-height: 100dvh; display: grid; place-items: start center;
  padding: max(1rem, env(safe-area-inset-top)) 1rem max(1rem, env(safe-area-inset-bottom));
  background: var(--back); color: var(--text);
  font: 1rem/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif;
}
main {
  width: 100%; max-width: 26rem; padding: 1.5rem; background: var(--card);
  border: 1px solid var(--line); border-radius: 12px; overflow-wrap: anywhere;
}
@media (min-height: 40rem) and (min-width: 32rem) { body { padding-top: 12vh; } main { padding: 2rem; } }
.service { margin: 0 0 1rem; font-weight: 600; color: var(--quiet); }
h1 { margin: 0 0 .5rem; font-size: 1.375rem; line-height: 1.25; }
h2 { margin: 1.25rem 0 .25rem; font-size: 1rem; }
p { margin: .5rem 0; }
.quiet { color: var(--quiet); font-size: .9375rem; }
.problem { padding: .75rem; border-radius: 8px; background: var(--bad-back); color: var(--bad); }
ul { margin: .25rem 0; padding-left: 1.25rem; }
label { display: block; margin: 1rem 0 .25rem; font-weight: 600; }
input[type=email], input[type=password] {
  width: 100%; min-height: 3rem; padding: .5rem .75rem; font: inherit; color: inherit;
  background: transparent; border: 1px solid var(--field); border-radius: 8px;
}
fieldset { margin: 1.25rem 0 0; padding: 0; border: 0; }
legend { padding: 0; font-weight: 600; }
.choice {
  display: flex; gap: .75rem; align-items: center; min-height: 3rem; margin: .5rem 0; padding: .5rem .75rem;
  border: 1px solid var(--line); border-radius: 8px; font-weight: 400; cursor: pointer;
}
.choice input { width: 1.25rem; height: 1.25rem; margin: 0; flex: none; accent-color: var(--accent); }
.choice small { display: block; color: var(--quiet); }
button {
  width: 100%; min-height: 3rem; margin-top: 1rem; padding: .5rem 1rem; font: inherit; font-weight: 600;
  color: var(--on-accent); background: var(--accent); border: 1px solid var(--accent); border-radius: 8px;
  cursor: pointer;
}
button.second { margin-top: .75rem; color: var(--text); background: transparent; border-color: var(--line); }
button.link {
  width: auto; min-height: 2.75rem; margin-top: .25rem; padding: .25rem 0; color: var(--accent); background: none; border: 0;
  font-weight: 400; text-decoration: underline;
}
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
`
