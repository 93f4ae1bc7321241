// The style sheet and the script of the page.
#include "admin/overview.h"

namespace semel::admin {

namespace {

// Colours have a contrast of 4.5 to 1 at least where they carry text (WCAG AA).
constexpr std::string_view kStyle = R"css(
:root {
  color-scheme: light dark;
  --ground: #fbfbfa; --raised: #fff; --text: #1d2327; --soft: #57606a; --line: #dfe2e5;
  --done: #2f7d4f; --duplicate: #3b6fb5; --retry: #b87a12; --dead: #b3372f;
  --parked: #7d55b0;
  --good: #1f6f43; --bad: #a52a22; --note: #7a5200; --badge: #eceff2;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #14181b; --raised: #1b2125; --text: #e6e9eb; --soft: #a3adb5; --line: #30383e;
    --done: #4caf7a; --duplicate: #6ea3e8; --retry: #dfa23c; --dead: #e8695f;
    --parked: #b18fe6;
    --good: #6fd09a; --bad: #ff9089; --note: #f0c064; --badge: #2a3238;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0 auto; padding: 1.5rem; max-width: 76rem; background: var(--ground); color: var(--text);
  font: 15px/1.5 system-ui, sans-serif; font-variant-numeric: tabular-nums;
}
header { display: flex; flex-wrap: wrap; gap: 0 1.5rem; align-items: baseline; }
h1 { font-size: 1.25rem; margin: 0; }
h2 { font-size: 1rem; margin: 0 0 .5rem; }
header p { margin: 0; color: var(--soft); }
.refresh { margin-left: auto; }
select { font: inherit; color: inherit; background: var(--raised); border: 1px solid var(--line); }
section {
  margin: 1rem 0; padding: 1rem; background: var(--raised); border: 1px solid var(--line);
  border-radius: .4rem; overflow-x: auto;
}
ul { margin: 0; padding-left: 1.2rem; }
li { overflow-wrap: anywhere; }
code { font-size: .9em; }
.legend { margin: 0 0 .5rem; }
.entry, .scale { display: inline-block; margin-right: 1rem; }
.key { display: inline-block; width: .8em; height: .8em; margin-right: .4em; }
.scale { color: var(--soft); }
.key.done { background: var(--done); } .key.duplicate { background: var(--duplicate); }
.key.retry { background: var(--retry); } .key.dead { background: var(--dead); }
.key.parked { background: var(--parked); }
.chart { display: block; width: 100%; height: 10rem; border-bottom: 1px solid var(--line); }
.spark .chart { width: 9rem; height: 2rem; }
polygon { stroke: var(--raised); stroke-width: .5; }
polygon.done { fill: var(--done); } polygon.duplicate { fill: var(--duplicate); }
polygon.retry { fill: var(--retry); } polygon.dead { fill: var(--dead); }
polygon.parked { fill: var(--parked); }
table { border-collapse: collapse; width: 100%; }
th, td { padding: .45rem .6rem; text-align: left; vertical-align: top; }
thead th { color: var(--soft); font-weight: 500; font-size: .85rem; vertical-align: bottom; }
tbody tr { border-top: 1px solid var(--line); }
.number { text-align: right; white-space: nowrap; }
table:not(.plain) thead th:nth-child(n + 3):nth-child(-n + 11) { text-align: right; }
tbody th { font-weight: 400; }
.name { font-weight: 600; }
.about { display: block; white-space: nowrap; color: var(--soft); font-size: .85rem; }
p.about { white-space: normal; }
.badge { background: var(--badge); border-radius: .3rem; padding: .05rem .4rem; font-size: .8rem; }
.state { white-space: nowrap; }
.good { color: var(--good); } .bad { color: var(--bad); font-weight: 600; } .note { color: var(--note); }
.empty, .as-of, footer { color: var(--soft); }
footer a { color: inherit; margin-right: 1rem; }
h1 a { color: inherit; text-decoration: none; }
main a { color: var(--duplicate); }
.plain .word, .plain tbody th { overflow-wrap: anywhere; }
.plain .about { white-space: normal; }
.plain thead th, .plain time { white-space: nowrap; }
.plain tbody th { min-width: 12rem; }
button {
  font: inherit; color: inherit; padding: .2rem .8rem; background: var(--badge);
  border: 1px solid var(--line); border-radius: .3rem; cursor: pointer;
}
nav { flex-basis: 100%; display: flex; flex-wrap: wrap; gap: 0 1rem; margin-top: .25rem; }
nav a { color: var(--soft); padding: .25rem 0; }
nav a[aria-current] { color: inherit; font-weight: 600; text-decoration: none; }
form { display: flex; flex-wrap: wrap; gap: .5rem 1rem; align-items: center; margin-bottom: .5rem; }
input {
  font: inherit; color: inherit; padding: .2rem .4rem; width: 22rem; max-width: 100%;
  background: var(--ground); border: 1px solid var(--line); border-radius: .3rem;
}
textarea {
  font: .9rem/1.4 ui-monospace, monospace; color: inherit; padding: .3rem .4rem; width: 100%;
  max-width: 60rem; display: block; background: var(--ground); border: 1px solid var(--line);
  border-radius: .3rem;
}
.edit label { display: block; }
label { max-width: 100%; }
.key-title { font-size: 1.25rem; overflow-wrap: anywhere; }
.story { font-size: 1.05rem; max-width: 48rem; }
.unseen { color: var(--soft); font-style: italic; }
p.about, .word .about { white-space: normal; }
.plain .short { overflow-wrap: normal; white-space: nowrap; }
section > :last-child { margin-bottom: 0; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .25rem 1.5rem; margin: 0; }
dt { color: var(--soft); }
dd { margin: 0; overflow-wrap: anywhere; }
.timeline { list-style: none; padding: 0; border-left: 2px solid var(--line); margin: 0 0 .5rem .4rem; }
.timeline li { padding: .2rem 0 .2rem 1rem; position: relative; }
.timeline li::before {
  content: ''; position: absolute; left: calc(-.35rem - 1px); top: .65rem; width: .7rem; height: .7rem;
  border-radius: 50%; box-sizing: border-box; background: var(--soft);
}
.timeline time { color: var(--soft); margin-right: .75rem; white-space: nowrap; }
.timeline .done::before { background: var(--done); }
.timeline .duplicate::before { background: var(--duplicate); }
.timeline .retry::before { background: var(--retry); }
.timeline .dead::before { background: var(--dead); }
.timeline .parked::before { background: var(--parked); }
.timeline .to-come::before { background: var(--raised); border: 2px solid var(--soft); }
.ages { max-width: 48rem; }
.ages th, .ages td { padding: .2rem .6rem; vertical-align: middle; white-space: nowrap; }
.ages .bars { width: 100%; }
.bar { display: block; width: 100%; height: .9rem; }
.bar rect { fill: var(--duplicate); }
.past .bar rect { fill: var(--dead); }
.ages .ttl th, .ages .ttl td { color: var(--note); border-top: 2px solid var(--note); white-space: normal; }
kbd { border: 1px solid var(--line); border-radius: .2rem; padding: 0 .3rem; font: inherit; }
#keys { flex-basis: 100%; }
[hidden] { display: none !important; }
:focus-visible { outline: 2px solid var(--duplicate); outline-offset: 2px; }
progress { width: 100%; max-width: 30rem; accent-color: var(--done); }
@media (max-width: 60rem) {
  body { padding: .75rem; }
  .refresh { margin-left: 0; }
  dl { gap: .25rem 1rem; }
  dt { overflow-wrap: anywhere; }
  .ages thead { display: none; }
}
/* The table of consumers has the most columns: it is the first to become cards. */
@media (max-width: 60rem) {
  .wide thead { display: none; }
  .wide, .wide tbody, .wide tr, .wide th, .wide td { display: block; width: auto; }
  .wide tbody tr { padding: .5rem 0; }
  .wide td { display: flex; justify-content: space-between; gap: 1rem; padding: .15rem .6rem; }
  .wide td::before { content: attr(data-label); flex: none; color: var(--soft); }
  .wide .number { text-align: left; }
}
@media (max-width: 44rem) {
  .plain thead { display: none; }
  .plain, .plain tbody, .plain tr, .plain th, .plain td { display: block; width: auto; }
  .plain tbody tr { padding: .5rem 0; }
  .plain td { display: flex; justify-content: space-between; gap: 1rem; padding: .15rem .6rem; }
  .plain td::before { content: attr(data-label); flex: none; color: var(--soft); }
  .plain .number { text-align: left; }
  .plain .short { white-space: normal; overflow-wrap: anywhere; }
}
)css";

// Pages are readable without this script. It refreshes a page while the page is visible.
constexpr std::string_view kScript = R"js(
'use strict';
const every = document.getElementById('every');
const status = document.querySelector('header p');
// Behind a path prefix several pages share an origin.
const setting = 'semel every ' + location.pathname;
let timer = 0;
let asking = false;
function remembered() {
  try { return sessionStorage.getItem(setting); } catch (error) { return null; }
}
function remember(value) {
  try { sessionStorage.setItem(setting, value); } catch (error) { /* it is asked for again */ }
}
// A page that is drawn anew would lose what somebody writes in it.
function writing() {
  return [...document.querySelectorAll('main input, main select')].some(
    (one) => one === document.activeElement ||
             (one.tagName === 'INPUT' && one.value !== one.defaultValue));
}
async function refresh() {
  if (document.hidden || asking || writing()) return;
  asking = true;
  try {
    // Without credentials of the address bar, which fetch refuses.
    const answer = await fetch(location.origin + location.pathname + location.search,
                               { cache: 'no-store', signal: AbortSignal.timeout(5000) });
    if (!answer.ok) throw new Error(String(answer.status));
    const fresh = new DOMParser().parseFromString(await answer.text(), 'text/html');
    const main = fresh.querySelector('main');
    if (main === null) throw new Error('another page');
    document.querySelector('main').replaceWith(main);
    status.textContent = fresh.querySelector('header p').textContent;
  } catch (error) {
    status.textContent = 'no answer (' + error.message + '): has the run ended?';
  } finally {
    asking = false;
  }
}
function schedule() {
  clearInterval(timer);
  const seconds = Number(every.value);
  if (seconds > 0) timer = setInterval(refresh, seconds * 1000);
}
document.querySelector('.refresh').hidden = false;
if ([...every.options].some((option) => option.value === remembered())) every.value = remembered();
every.addEventListener('change', () => { remember(every.value); schedule(); });
document.addEventListener('visibilitychange', () => { if (every.value !== '0') refresh(); });
schedule();
)js";

}  // namespace

std::string_view page_style() noexcept { return kStyle; }
std::string_view page_script() noexcept { return kScript; }

}  // namespace semel::admin
