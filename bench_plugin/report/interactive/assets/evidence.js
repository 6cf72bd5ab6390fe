// The evidence of a cell: what went wrong, how to see it again, the figures, what took part.

let evidenceCell = -1, returnFocus = null;

const AXES_IN_TITLE = ['check', 'model', 'framework', 'exporter', 'opset', 'importer', 'compiler', 'precision', 'target', 'batch', 'threads', 'streams', 'mode'];

async function openEvidence(cell) {
  const dialog = byId('evidence');
  if (!dialog.open) returnFocus = document.activeElement;
  evidenceCell = cell;
  const details = data.details ? await detailsOf(cell) : null;
  const logs = details && details.log ? await logsOf() : {};
  const trend = await trendOf(cell);
  if (evidenceCell !== cell) return;      // another one was asked for while this one was unpacked
  const at = shown.indexOf(cell);
  if (at >= 0) active = at;
  dialog.replaceChildren(evidenceHead(cell, at), evidenceBody(cell, details, logs, trend));
  history.replaceState(null, '', address(data.ids[cell]));
  if (!dialog.open) dialog.showModal();
  dialog.scrollTop = 0;
  byId('evidence-close').focus();
}

function makeEvidence() {
  const dialog = byId('evidence');
  dialog.addEventListener('close', () => {
    evidenceCell = -1;
    forgetDeployment();
    dialog.replaceChildren();
    history.replaceState(null, '', address());
    if (!byId('table-view').hidden) activate(active);
    if (returnFocus && returnFocus.isConnected && returnFocus !== document.body) returnFocus.focus();
    else byId('table').focus();
  });
  dialog.addEventListener('click', event => { if (event.target === dialog) dialog.close(); });
  dialog.addEventListener('keydown', event => {
    if (event.target.closest('input, select, pre')) return;
    const step = {ArrowRight: 1, ArrowLeft: -1}[event.key];
    if (step) { event.preventDefault(); showNeighbour(step); }
  });
}

/** The evidence of the next or the previous of the cells that are shown. */
function showNeighbour(by) {
  const at = shown.indexOf(evidenceCell) + by;
  if (at >= 0 && at < shown.length) openEvidence(shown[at]);
}

function evidenceHead(cell, at) {
  const said = AXES_IN_TITLE.map(id => wordOf(id, cell)).filter(Boolean).join(' · ');
  const place = at >= 0 ? `${at + 1} of ${shown.length}` : 'not among the cells shown';
  return make('div', {class: 'evidence-top'},
    make('h2', {id: 'evidence-title'}, badge('status', wordOf('status', cell)), ' ',
      wordOf('change', cell) ? badge('change', wordOf('change', cell)) : '', ` ${said}`),
    make('span', {class: 'quiet'}, place),
    make('button', {type: 'button', title: 'Arrow key left', disabled: at <= 0, click: () => showNeighbour(-1)}, '← Previous'),
    make('button', {type: 'button', title: 'Arrow key right', disabled: at < 0 || at + 1 >= shown.length, click: () => showNeighbour(1)}, 'Next →'),
    make('button', {type: 'button', id: 'evidence-close', click: () => byId('evidence').close()}, 'Close'));
}

function evidenceBody(cell, details, logs, trend) {
  const body = make('div', {class: 'evidence-body'});
  if (!details) {
    body.append(make('p', {class: 'said'}, wordOf('why', cell)),
      make('p', {class: 'quiet'}, 'This page was written without the details of cells (--without-details).'),
      ...overRuns(trend));
  } else {
    body.append(...whatHappened(cell, details), ...overRuns(trend), ...howToRepeat(cell, details), ...figures(details),
      ...deployment(details), ...took(details), ...texts(details, logs), ...everything(details));
  }
  return body;
}

// -- what happened

function whatHappened(cell, details) {
  const parts = [], stage = [details.stage, details.symptom].filter(Boolean).join(': ');
  const reason = (details.reason || '').trim().split('\n');
  if (stage || reason[0]) {
    parts.push(make('p', {class: 'said'}, stage ? make('strong', {}, `${stage} `) : '', reason[0] || ''));
  } else if (details.status === 'supported') {
    parts.push(make('p', {class: 'said'}, 'It ran, and everything compared is within its tolerance.'));
  }
  if (details.unverified) parts.push(make('p', {}, `Nothing was proven: ${details.unverified}.`));
  if (!details.repro) parts.push(make('p', {class: 'quiet'}, 'Declared: it was decided before the run, and nothing was computed.'));
  if (details.result) parts.push(make('p', {class: 'quiet'}, `pytest: ${details.result}.`));
  if (details.expected) {
    const link = details.expected.link || '';
    parts.push(make('p', {}, make('strong', {}, 'Expected: '), details.expected.reason || 'no reason given', ' ',
      /^https?:\/\//.test(link) ? make('a', {href: link, rel: 'noreferrer'}, link) : make('code', {}, link)));
  }
  if (details.moved) parts.push(...whatMoved(cell, details));
  if (details.flags) parts.push(make('ul', {}, details.flags.map(flag => make('li', {}, flag))));
  return parts;
}

function whatMoved(cell, details) {
  const {word, said, versions} = details.moved, own = versions.length ? versions : relatedVersions(cell);
  const parts = [make('p', {}, badge('change', word), said.length ? ` since the run before: ${said.join('; ')}` : '')];
  if (own.length) parts.push(make('p', {}, make('span', {class: 'quiet'}, 'Versions that changed beside it: '), own.join('; ')));
  else if (word !== 'new') parts.push(make('p', {class: 'quiet'}, 'No version of its tools changed since.'));
  return parts;
}

/** The versions that changed in the toolchains of a cell, and those that concern every cell. */
function relatedVersions(cell) {
  const tools = new Set(['bench_plugin', 'python', 'machine', wordOf('framework', cell), wordOf('importer_framework', cell),
    wordOf('compiler', cell).split('[')[0]]);
  return Object.entries(data.sources[data.source[cell]].versions)
    .filter(([name]) => tools.has(name.split(' ')[0]))
    .map(([name, [before, now]]) => `${name} ${before || 'absent'} → ${now || 'absent'}`);
}

/** The statuses of the last runs as a line, oldest first, their times as another one, and all figures as a table. */
function overRuns(trend) {
  if (!trend) return [];
  const counted = trend.instructions.some(count => count !== null);
  const rows = trend.run.map((run, at) => [run, trend.started[at], badge('status', trend.status[at]), figure(trend.E[at]),
    figure(trend.time[at], 's'), ...(counted ? [figure(trend.instructions[at])] : [])]).reverse();
  const line = trend.status.map((status, at) => {
    const look = lookOf('status', status);
    return make('span', {class: `badge ${look.tone}`, title: `${trend.started[at]} ${status}`}, make('span', {'aria-hidden': 'true'}, look.symbol));
  });
  const newest = trend.status[trend.status.length - 1], since = trend.status.findLastIndex(status => status !== newest) + 1;
  const said = since ? `${newest} since ${[trend.started[since], trend.run[since]].filter(Boolean).join(', run ')}; ${trend.status[since - 1]} before`
    : `${newest} in each of the last ${trend.run.length} runs`;
  return [make('h3', {}, 'Over runs'),
    make('p', {role: 'img', 'aria-label': `The last ${trend.run.length} runs, oldest first: ${trend.status.join(', ')}`}, line),
    make('p', {id: 'trend-said'}, `${said}.`),
    ...(trend.line.length > 1 ? [sparkline(trend.line, trend.time.some(time => time !== null) ? 's' : '')] : []),
    closed(`The last ${trend.run.length} runs`,
      scrolling('Runs', plainTable(['run', 'day', 'status', 'E', 'time', ...(counted ? ['instructions'] : [])], rows)))];
}

/** Times in seconds, or instructions, from the oldest to the newest as a small line from zero. */
function sparkline(values, unit) {
  const step = 12, height = 36, width = step * (values.length - 1), most = Math.max(...values) || 1;
  const points = values.map((value, at) => `${at * step + 2},${(2 + height * (1 - value / most)).toFixed(1)}`).join(' ');
  const drawing = (name, attributes, ...children) => {
    const element = document.createElementNS('http://www.w3.org/2000/svg', name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    element.append(...children);
    return element;
  };
  const what = unit ? 'Time' : 'Instructions', [first, last] = [values[0], values[values.length - 1]].map(value => figure(value, unit));
  const said = `${what} of the last ${values.length} runs on the same machine or board: from ${first} to ${last}`;
  return make('p', {}, drawing('svg', {role: 'img', 'aria-label': said, width: width + 4, height: height + 4, class: 'sparkline'},
    drawing('polyline', {points, fill: 'none', stroke: 'currentColor', 'stroke-width': 2})), ` ${said}.`);
}

// -- how to repeat it

const quoted = word => /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;

function howToRepeat(cell, details) {
  if (!details.repro) return [];
  const commands = [
    `bench repro ${quoted(data.ids[cell])} --results ${quoted(data.sources[data.source[cell]].path)}`,
    `pytest ${details.repro.map(quoted).join(' ')}`,
  ];
  return [make('h3', {}, 'Run it again'), ...commands.map((command, number) => copied(command, number ? 'pytest command' : 'command'))];
}

function copied(text, what) {
  const button = make('button', {type: 'button', 'aria-label': `Copy the ${what}`, click: async () => {
    try {
      await navigator.clipboard.writeText(text);
      button.textContent = 'Copied';
    } catch {                                  // a page from disk may not be allowed to: the text is selected instead
      getSelection().selectAllChildren(shownText);
      button.textContent = 'Selected: press Ctrl+C';
    }
  }}, 'Copy');
  const shownText = make('pre', {tabindex: '0'}, text);
  return make('div', {class: 'copied'}, shownText, button);
}

// -- figures

const OF_OUTPUT = ['status', 'E', 'tolerance_E', 'M', 'tolerance_M', 'noise_E', 'max_abs', 'max_rel', 'cosine', 'needed'];
const SHOWN_APART = new Set(['outputs', 'per_layer', 'mutants', 'timing', 'series', 'power', 'confusion', 'precision', 'sensitivity', 'machine', 'sampler']);

function figures(details) {
  const numbers = details.numbers || {}, parts = [];
  const single = Object.entries(numbers).filter(([name, value]) => !SHOWN_APART.has(name) && typeof value !== 'object');
  if (!Object.keys(numbers).length) return [];
  parts.push(make('h3', {}, 'Numbers'));
  if (numbers.E !== undefined && numbers.tolerance_E) parts.push(againstTolerance(numbers));
  if (single.length) parts.push(facts(single));
  if (numbers.outputs && numbers.outputs.length) {
    const heads = OF_OUTPUT.filter(head => numbers.outputs.some(output => output[head] !== undefined && output[head] !== null));
    parts.push(make('h4', {}, 'Outputs'), scrolling('Outputs', plainTable(['output', ...heads],
      numbers.outputs.map(output => [output.name, ...heads.map(head => output[head])]))));
  }
  if (numbers.per_layer && numbers.per_layer.length) parts.push(...errorProfile(numbers.per_layer));
  if (numbers.mutants) parts.push(...mutants(numbers.mutants));
  const nested = Object.entries(numbers).filter(([name, value]) => !SHOWN_APART.has(name) && value && typeof value === 'object');
  for (const [name, value] of nested) parts.push(tree(name, value));
  return parts;
}

function againstTolerance(numbers) {
  const share = numbers.E / numbers.tolerance_E, noise = numbers.noise_E;
  const width = Math.min(100, 100 * Math.max(0, 1 + Math.log10(Math.max(share, 1e-9)) / 6) * 0.8);
  return make('div', {},
    make('p', {}, `E is ${digits(numbers.E)}, which is ${digits(share)} times its tolerance of ${digits(numbers.tolerance_E)}`,
      noise ? ` and ${digits(numbers.E / noise)} times the noise of the precision (${digits(noise)})` : '', '.'),
    make('div', {class: 'bar', role: 'img', 'aria-label': `${digits(share)} times the tolerance, on a logarithmic scale`},
      make('i', {class: share > 1 ? 'bad' : 'good', style: `width:${width.toFixed(1)}%`})));
}

/** The error along the graph, a bar per layer on a logarithmic scale; what is out of its bound says so in words. */
function errorProfile(layers) {
  const steps = layers.some(layer => layer.largest_steps !== undefined);
  const valueOf = layer => Number(steps ? layer.largest_steps : layer.E);
  const logs = layers.map(valueOf).filter(value => value > 0).map(Math.log10);
  const low = Math.min(...logs, 0) - 0.5, high = Math.max(...logs, low + 1);
  const box = make('div', {class: 'profile', role: 'list'});
  for (const layer of layers) {
    const value = valueOf(layer), wrong = layer.within !== undefined ? layer.within !== true && layer.within < 1 : false;
    const width = value > 0 ? Math.max(1, 100 * (Math.log10(value) - low) / (high - low)) : 0;
    const said = Number.isNaN(value) ? String(layer.exception || 'not measured') : digits(value);
    box.append(make('span', {title: layer.name, role: 'listitem'}, layer.name),
      make('div', {class: 'bar', 'aria-hidden': 'true'}, make('i', {class: wrong ? 'bad' : 'skew', style: `width:${width.toFixed(1)}%`})),
      make('span', {}, `${said}${wrong ? ' ✖ wrong' : ''}`));
  }
  return [make('h4', {}, `Error profile: ${steps ? 'largest distance in steps' : 'E'} of every layer, in the order of the graph`), box];
}

function mutants(table) {
  const rows = Object.entries(table).map(([name, mutant]) =>
    [name, mutant.kind || '', mutant.killed ? '✓ noticed' : '✖ not noticed', mutant.ratio ?? '']);
  return [closed(`Mistakes made on purpose (${rows.length})`,
    scrolling('Mistakes made on purpose', plainTable(['mistake', 'kind', 'comparison', 'times the tolerance'], rows)))];
}

// -- the deployment: times, series over time, power, classification, and its pictures

let deploymentPictures, deploymentViews = [];

function deployment(details) {
  const found = details.deployment, numbers = details.numbers || {}, parts = [];
  if (!found) return [];
  if (found.facts.length) parts.push(facts(found.facts));
  if (found.figures.length) {
    parts.push(make('h4', {}, 'Over time'), scrolling('Series over time', plainTable(
      ['series', 'unit', 'mean', 'sd', 'median', 'samples', 'remark'],
      found.figures.map(one => [one.title, one.unit, one.mean, one.sd, one.median, one.samples, one.remark]))));
  }
  const box = make('div', {id: 'deployment-pictures-box'});
  parts.push(box);
  drawDeployment(box, found.rows);
  for (const name of ['timing', 'power', 'machine', 'sampler']) if (numbers[name]) parts.push(tree(name, numbers[name]));
  return [make('h3', {}, 'Deployment'), ...parts];
}

function forgetDeployment() {
  for (const view of deploymentViews) view.finalize();
  deploymentViews = [];
}

async function drawDeployment(box, rows) {
  forgetDeployment();
  deploymentPictures ??= unpacked('deployment-pictures');
  const drawings = await deploymentPictures;
  await new Promise(requestAnimationFrame);                    // the width of the panel is known once it is shown
  for (const picture of drawings) {
    if (!box.isConnected) return;                              // another cell was opened, or the panel was closed
    if (!rows[picture.name] || !rows[picture.name].length) continue;
    const place = make('div', {class: 'scroll', tabindex: '0', role: 'region', 'aria-label': picture.title});
    box.append(make('h4', {}, picture.title), make('p', {class: 'quiet'}, picture.question), place);
    deploymentViews.push(await drawn(place, picture.specification, rows[picture.name]));
  }
  box.dataset.drawn = 'yes';
}

// -- what took part

function took(details) {
  const parts = [], stages = [...new Set([...Object.keys(details.timings || {}), ...Object.keys(details.peaks || {})])];
  if (stages.length) {
    const cached = new Set(details.stages_cached || []);
    parts.push(make('h3', {}, 'Stages'), scrolling('Stages', plainTable(['stage', 'time', 'peak memory', 'from the cache'], stages.map(stage =>
      [stage, figure(details.timings?.[stage], 's'), figure(details.peaks?.[stage], 'B'), cached.has(stage) ? 'yes' : '']))));
  }
  if (details.versions) parts.push(make('h3', {}, 'Versions'), facts(Object.entries(details.versions)));
  for (const name of ['placement', 'artefacts', 'retry', 'settings']) if (details[name]) parts.push(tree(name, details[name]));
  return parts;
}

function texts(details, logs) {
  const parts = [], reason = (details.reason || '').trim();
  if (reason.includes('\n')) parts.push(closed('Whole reason', make('pre', {tabindex: '0'}, reason)));
  if (details.detail) parts.push(make('h3', {}, 'Traceback'), make('pre', {tabindex: '0'}, details.detail));
  if (details.log) {
    parts.push(make('h3', {}, 'Log'), make('p', {}, make('code', {}, details.log)));
    if (logs[details.log]) parts.push(closed('The end of the log', make('pre', {tabindex: '0'}, logs[details.log])));
    else parts.push(make('p', {class: 'quiet'}, 'Its text was not beside the results file when the page was written, or the cell is supported.'));
  }
  return parts;
}

const everything = details => {
  const parts = closed('All of the row', make('p', {}, '…'));
  parts.addEventListener('toggle', () => parts.lastChild.replaceWith(make('pre', {tabindex: '0'}, JSON.stringify(details, null, 1))), {once: true});
  return [make('h3', {}, 'Data'), parts];
};

// -- shapes

const closed = (title, ...children) => make('details', {}, make('summary', {}, title), ...children);

function facts(pairs) {
  return make('dl', {}, pairs.flatMap(([name, value]) =>
    [make('dt', {}, name.replaceAll('_', ' ')), make('dd', {}, typeof value === 'number' ? digits(value) : String(value))]));
}

/** Nested data: what is plain as a list of facts, what is not as its JSON. */
function tree(title, value) {
  const pairs = Array.isArray(value) ? value.map((item, number) => [String(number + 1), item]) : Object.entries(value);
  const flat = pairs.every(([, item]) => item === null || typeof item !== 'object');
  return closed(title.replaceAll('_', ' '), flat ? facts(pairs) : make('pre', {tabindex: '0'}, JSON.stringify(value, null, 1)));
}
