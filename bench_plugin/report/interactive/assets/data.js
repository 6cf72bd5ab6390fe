// Data of the page: base64 of gzipped JSON in elements that no text of a row can break out of.

const byId = id => document.getElementById(id);

// fromBase64: Chromium 140, Firefox 133, Safari 18.2; older browsers have atob alone.
const bytesOf = text => Uint8Array.fromBase64
  ? Uint8Array.fromBase64(text)
  : Uint8Array.from(atob(text), letter => letter.charCodeAt(0));

/** The text packed in the element `id`. */
async function unpackedText(id) {
  const unpacked = new Blob([bytesOf(byId(id).textContent)]).stream().pipeThrough(new DecompressionStream('gzip'));
  return new Response(unpacked).text();
}

const unpacked = async id => JSON.parse(await unpackedText(id));

const NO_NUMBER = NaN;
let data;              // what report/interactive/page.py packed as "data"
const columns = {};    // by id: {id, title, filter, words, codes} of texts, {id, title, unit, hint, values} of figures
let haystack = [];     // by cell: all its words in small letters, for the search

/** Unpack the columns into typed arrays and make what the search looks in. */
async function openData() {
  data = await unpacked('data');
  for (const column of data.columns) {
    columns[column.id] = column;
    if (column.words) {
      column.codes = Uint32Array.from(column.codes);
    } else {
      column.values = Float64Array.from(column.values, value => value === null ? NO_NUMBER : value);
    }
  }
  const texts = data.columns.filter(column => column.words);
  const small = texts.map(column => column.words.map(word => word.toLowerCase() + '\n'));
  haystack = data.ids.map((id, cell) => {
    let text = id.toLowerCase() + '\n';
    for (let at = 0; at < texts.length; at++) text += small[at][texts[at].codes[cell]];
    return text;
  });
}

const wordOf = (id, cell) => columns[id] && columns[id].words ? columns[id].words[columns[id].codes[cell]] : '';

/** The details of a cell: the block that it is in is unpacked when it is first asked for. */
const openBlocks = new Map();
function detailsOf(cell) {
  const number = Math.floor(cell / data.block);
  if (!openBlocks.has(number)) openBlocks.set(number, unpacked(`block-${number}`));
  return openBlocks.get(number).then(block => block[cell % data.block]);
}

let openLogs, openTrends;
const logsOf = () => openLogs ??= unpacked('logs');

/** How a cell went over earlier runs; undefined where no index of runs knows it. */
const trendOf = async cell => (await (openTrends ??= unpacked('trends')))[data.ids[cell]];

// Figures as a person reads them.
const UNITS = {
  s: [[1, 's'], [1e-3, 'ms'], [1e-6, 'µs'], [1e-9, 'ns']],
  B: [[2 ** 30, 'GiB'], [2 ** 20, 'MiB'], [2 ** 10, 'KiB'], [1, 'B']],
};

/** A number of a unit in short: three digits and the unit that leaves at least one before the point. */
function figure(value, unit) {
  if (value === null || value === undefined || Number.isNaN(value)) return '';
  if (unit === 'share') return `${(100 * value).toFixed(1)} %`;
  const scales = UNITS[unit];
  if (scales) {
    if (value === 0) return `0 ${unit}`;
    const [scale, name] = scales.find(([least]) => Math.abs(value) >= least) || scales[scales.length - 1];
    return `${digits(value / scale)} ${name}`;
  }
  return digits(value);
}

function digits(value) {
  if (Number.isInteger(value)) return Math.abs(value) < 1e6 ? String(value) : value.toLocaleString('en');
  const size = Math.abs(value);
  return size >= 1e5 || size < 1e-3 ? value.toExponential(1) : String(Number(value.toPrecision(3)));
}
