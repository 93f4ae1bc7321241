// The scripts of the pages' buttons and of the keyboard.
#include "admin/page_parts.h"

namespace semel::admin::page {

namespace {

constexpr std::string_view kActScript = R"js(
'use strict';
// Buttons that write need a script: a write is JSON, which no form of another site can send.
function show_buttons() {
  for (const one of document.querySelectorAll('button[data-post], .with-script')) one.hidden = false;
}
function body_of(one) {
  const body = {};
  const rate = document.getElementById('rate');
  const reason = document.getElementById('reason');
  if (rate !== null && rate.value !== '') body.rate = rate.value;
  if (reason !== null && reason.value !== '') body.reason = reason.value;
  if (one.dataset.as) body.as = one.dataset.as;
  if (one.dataset.upTo) body.up_to = Number(one.dataset.upTo);
  return body;
}
// Each line that has something in it.
function lines_of(id) {
  return document.getElementById(id).value.split('\n').map((line) => line.trim())
                 .filter((line) => line !== '');
}
// The form of a letter; a payload that nobody touched stays as it is.
function edit_of(one) {
  const payload = document.getElementById('edit-payload');
  const form = document.getElementById('edit-form');
  const reason = document.getElementById('edit-reason').value;
  if (reason === '') throw new Error('an edit needs a reason');
  const body = { reason, revision: one.dataset.revision };
  if (payload.value !== payload.defaultValue) body[form.value] = payload.value;
  const set = lines_of('edit-set').map((line) => {
    const at = line.indexOf(':');
    if (at < 1) throw new Error('"' + line + '" is no header: name: value');
    return { name: line.slice(0, at).trim(), value: line.slice(at + 1).trim() };
  });
  if (set.length > 0) body.set_headers = set;
  const remove = lines_of('edit-remove');
  if (remove.length > 0) body.remove_headers = remove;
  if (one.dataset.replay) body.replay = true;
  return body;
}
async function act(one) {
  const here = location.origin + location.pathname;
  try {
    const body = one.dataset.revision ? edit_of(one) : body_of(one);
    if (one.dataset.question && !confirm(one.dataset.question)) return;
    one.disabled = true;
    const answer = await fetch(new URL(one.dataset.post, here),
                               { method: 'POST', headers: { 'Content-Type': 'application/json' },
                                 body: JSON.stringify(body) });
    const said = await answer.json();
    if (!answer.ok) throw new Error(said.detail + (said.fix ? ': ' + said.fix : ''));
    if (said.job) location.assign(new URL('job?id=' + said.job.id, here));
    else location.reload();
  } catch (error) {
    document.querySelector('header p').textContent = error.message;
    one.disabled = false;
  }
}
document.addEventListener('click', (event) => {
  const one = event.target.closest('button[data-post]');
  if (one !== null) act(one);
});
new MutationObserver(show_buttons).observe(document.body, { childList: true, subtree: true });
show_buttons();
)js";

constexpr std::string_view kPagesScript = R"js(
'use strict';
const kPages = { o: './', s: 'stuck', d: 'dead-letters', l: 'live' };
function help() {
  let box = document.getElementById('keys');
  if (box === null) {
    box = document.createElement('p');
    box.id = 'keys';
    box.textContent = '/ looks up a key, r draws the page anew, o overview, s stuck, ' +
                      'd dead letters, l live, ? this line';
    document.querySelector('header').append(box);
  } else {
    box.remove();
  }
}
document.addEventListener('keydown', (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest('input, select, textarea, button') !== null) return;
  const here = location.origin + location.pathname;
  if (event.key === '/') {
    event.preventDefault();
    const box = document.getElementById('key');
    if (box !== null) box.focus();
    else location.assign(new URL('record', here));
  } else if (event.key === 'r') {
    location.reload();
  } else if (event.key === '?') {
    help();
  } else if (Object.hasOwn(kPages, event.key)) {
    location.assign(new URL(kPages[event.key], here));
  }
});
)js";

}  // namespace

std::string_view act_script() noexcept { return kActScript; }
std::string_view keys_script() noexcept { return kPagesScript; }

}  // namespace semel::admin::page
