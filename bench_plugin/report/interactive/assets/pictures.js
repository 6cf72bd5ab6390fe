// The pictures: drawn by the plotting library when they come into sight, in the colours of the page.

let pictures = null, plotting = null;
const views = new Map();            // number of a picture -> what vegaEmbed returned
const MOST_TABLE = 500;

/** Unpack the plotting library once; the page's content security policy names it by its digest. */
function loadPlotting() {
  plotting ??= unpackedText('plotting').then(text => document.head.append(make('script', {}, text)));
  return plotting;
}

async function makePictures() {
  const elements = document.querySelectorAll('.picture');
  if (!elements.length) return;
  const seen = new IntersectionObserver(entries => {
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      seen.unobserve(entry.target);
      drawPicture(Number(entry.target.dataset.picture));
    }
  }, {rootMargin: '400px'});
  for (const element of elements) {
    seen.observe(element);
    element.querySelector('[data-do=table]').addEventListener('click', event => toggleTable(element, event.currentTarget));
    element.querySelector('[data-do=svg]').addEventListener('click', () => saveSvg(Number(element.dataset.picture)));
  }
}

const colourOf = name => {
  const probe = make('i', {style: `color:var(--${name})`});
  document.body.append(probe);
  const colour = getComputedStyle(probe).color;
  probe.remove();
  return colour;
};

/** A theme from Python with the page's own colours: its words stand for them. */
function themed() {
  const colours = {'page-text': colourOf('text'), 'page-line': colourOf('line'), 'page-background': 'transparent'};
  return JSON.parse(JSON.stringify(data.theme), (_, value) => colours[value] || value);
}

async function openPictures() {
  pictures ??= unpacked('pictures-data');
  return pictures;
}

async function drawPicture(number) {
  const picture = (await openPictures())[number], place = document.querySelector(`[data-picture="${number}"] .canvas`);
  if (views.has(number)) views.get(number).finalize();
  views.set(number, await drawn(place, picture.specification, picture.rows));
  place.dataset.drawn = 'yes';
}

/** Draw rows by a specification into an element that is empty afterwards but for the picture. */
async function drawn(place, drawing, rows) {
  await loadPlotting();
  const target = make('div');
  place.replaceChildren(target);
  // Vega writes into the objects that it is given, so every view has rows of its own.
  const specification = structuredClone(drawing);
  specification.datasets = {...specification.datasets, rows: structuredClone(rows)};
  // "ast": expressions are interpreted, so that the page needs no permission to make code from text.
  return window.vegaEmbed(target, specification, {actions: false, renderer: 'svg', ast: true, config: themed()});
}

const redrawPictures = () => Promise.all([...views.keys()].map(drawPicture));

async function toggleTable(element, button) {
  const box = element.querySelector('.as-table'), open = box.hidden;
  button.textContent = open ? 'Hide the table' : 'Show as table';
  button.setAttribute('aria-expanded', String(open));
  box.hidden = !open;
  if (!open || box.children.length) return;
  const picture = (await openPictures())[Number(element.dataset.picture)];
  const heads = [...new Set(picture.rows.flatMap(Object.keys))];
  const rows = picture.rows.slice(0, MOST_TABLE).map(row => heads.map(head => typeof row[head] === 'boolean' ? String(row[head]) : row[head]));
  if (picture.rows.length > MOST_TABLE) box.append(make('p', {class: 'quiet'}, `The first ${MOST_TABLE} of ${picture.rows.length} rows.`));
  box.append(plainTable(heads, rows));
  Object.entries({tabindex: '0', role: 'region', 'aria-label': `${picture.title}, as a table`}).forEach(([name, value]) => box.setAttribute(name, value));
}

async function saveSvg(number) {
  if (!views.has(number)) await drawPicture(number);
  const text = await views.get(number).view.toSVG(), all = await openPictures();
  const link = make('a', {href: URL.createObjectURL(new Blob([text], {type: 'image/svg+xml'})), download: `${all[number].name}.svg`});
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
