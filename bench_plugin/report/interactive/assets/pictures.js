// The pictures: drawn by the plotting library when they come into sight, in the colours of the page, of the cells that
// the filters leave.

let pictures = null, plotting = null;
let among = null, amongText = '';   // cells with a 1 are in the pictures, null: all cells; which choice that is, as text
const views = new Map();            // number of a picture -> what vegaEmbed returned
const inSight = new Set();          // numbers of pictures
const drawnOf = new Map();          // number of a picture -> the choice of cells that it was drawn of
const drawing = new Map();          // number of a picture -> the promise of its last drawing
const MOST_TABLE = 500;
const SETTLED = 250;                // ms without a change of the filters before pictures are drawn again

/** Unpack the plotting library once; the page's content security policy names it by its digest. */
function loadPlotting() {
  plotting ??= unpackedText('plotting').then(text => document.head.append(make('script', {}, text)));
  return plotting;
}

async function makePictures() {
  const elements = document.querySelectorAll('.picture');
  if (!elements.length) return;
  followFilters();
  const seen = new IntersectionObserver(entries => {
    for (const entry of entries) {
      const number = Number(entry.target.dataset.picture);
      if (entry.isIntersecting) inSight.add(number);
      else inSight.delete(number);
    }
    drawStale();
  }, {rootMargin: '400px'});
  for (const element of elements) {
    seen.observe(element);
    element.querySelector('[data-do=table]').addEventListener('click', event => toggleTable(element, event.currentTarget));
    element.querySelector('[data-do=svg]').addEventListener('click', () => saveSvg(Number(element.dataset.picture)));
  }
}

/** Draw the pictures of the cells that the filters leave, some time after the last change; only those in sight. */
function followFilters() {
  let settled;
  const box = byId('pictures-follow');
  const choose = () => {
    const all = shown.length === data.cells, following = box.checked && !all;
    const text = following ? JSON.stringify([selection.query, [...selection.filters].map(([id, codes]) => [id, ...codes])]) : '';
    byId('pictures-said').textContent = following ? `The ${shown.length} of ${data.cells} cells that the filters leave.`
      : `All ${data.cells} cells${all ? '' : ', whatever the filters leave'}.`;
    if (text === amongText) return;
    amongText = text;
    among = following ? new Uint8Array(data.cells) : null;
    if (following) for (const cell of shown) among[cell] = 1;
    clearTimeout(settled);
    settled = setTimeout(drawStale, SETTLED);
  };
  followers.push(choose);
  box.addEventListener('change', choose);
  choose();
}

/** Draw the pictures in sight that are of other cells than they should be, or were not drawn yet. */
const drawStale = () => Promise.all([...inSight].filter(number => drawnOf.get(number) !== amongText).map(drawPicture));

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

/** The rows of a picture: of all cells, or of those that the filters leave. */
const rowsOf = picture => among ? rowsOfFewer(picture, among) : picture.rows;

/** Draw a picture after the drawing of it that is under way; returns when what is shown is of the cells of now. */
function drawPicture(number) {
  drawnOf.set(number, amongText);
  const next = (drawing.get(number) || Promise.resolve()).catch(() => null).then(() => drawNow(number));
  drawing.set(number, next);
  return next;
}

async function drawNow(number) {
  const picture = (await openPictures())[number], rows = rowsOf(picture);
  const element = document.querySelector(`[data-picture="${number}"]`), place = element.querySelector('.canvas');
  if (views.has(number)) views.get(number).finalize();
  views.delete(number);
  place.style.minHeight = `${place.offsetHeight}px`;         // what is below does not jump up and down
  if (rows.length) views.set(number, await drawn(place, picture.specification, rows));
  else place.replaceChildren(make('p', {class: 'quiet'}, 'None of the cells that the filters leave has what this picture shows.'));
  place.style.minHeight = '';
  place.dataset.drawn = 'yes';
  element.querySelector('[data-do=svg]').disabled = !rows.length;
  const table = element.querySelector('.as-table');
  if (!table.hidden) fillTable(table, picture);
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
  if (open) fillTable(box, (await openPictures())[Number(element.dataset.picture)]);
}

function fillTable(box, picture) {
  const all = rowsOf(picture), heads = [...new Set(all.flatMap(Object.keys))].filter(head => head !== 'number');
  const rows = all.slice(0, MOST_TABLE).map(row => heads.map(head => typeof row[head] === 'boolean' ? String(row[head]) : row[head]));
  const more = all.length > MOST_TABLE ? [make('p', {class: 'quiet'}, `The first ${MOST_TABLE} of ${all.length} rows.`)] : [];
  box.replaceChildren(...more, plainTable(heads, rows));
  Object.entries({tabindex: '0', role: 'region', 'aria-label': `${picture.title}, as a table`}).forEach(([name, value]) => box.setAttribute(name, value));
}

async function saveSvg(number) {
  if (drawnOf.get(number) !== amongText) drawPicture(number);
  await drawing.get(number);
  if (!views.has(number)) return;                              // nothing is left of it
  const text = await views.get(number).view.toSVG(), all = await openPictures();
  const link = make('a', {href: URL.createObjectURL(new Blob([text], {type: 'image/svg+xml'})), download: `${all[number].name}.svg`});
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
