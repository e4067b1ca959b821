// Unpack gzip at once (RFC 1951, after Mark Adler's "puff"): a page that is printed as it opens cannot wait for the
// browser's own unpacking, which only works in the background.
R.gunzip = (packed) => {
  const letters = atob(packed), source = new Uint8Array(letters.length);
  for (let i = 0; i < letters.length; i++) source[i] = letters.charCodeAt(i);
  const size = new DataView(source.buffer).getUint32(source.length - 4, true), out = new Uint8Array(size);
  let at = 10, end = 0, held = 0, holds = 0;  // ten bytes of header: it names no file
  const bits = (n) => {
    while (holds < n) { held |= source[at++] << holds; holds += 8; }
    const value = held & ((1 << n) - 1);
    held >>>= n; holds -= n;
    return value;
  };
  const code = (lengths) => {
    const counts = new Uint16Array(16), places = new Uint16Array(17), symbols = new Uint16Array(lengths.length);
    for (const length of lengths) counts[length]++;
    counts[0] = 0;
    for (let i = 1; i < 16; i++) places[i + 1] = places[i] + counts[i];
    lengths.forEach((length, symbol) => { if (length) symbols[places[length]++] = symbol; });
    return { counts, symbols };
  };
  const decode = ({ counts, symbols }) => {
    for (let length = 1, value = 0, first = 0, index = 0; length < 16; length++) {
      value |= bits(1);
      if (value - counts[length] < first) return symbols[index + value - first];
      index += counts[length]; first = (first + counts[length]) << 1; value <<= 1;
    }
    throw new Error("the page is damaged");
  };
  const LENGTHS = [3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258];
  const EXTRA = [0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0];
  const ORDER = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];
  const distance = (symbol) => { const extra = Math.max(0, (symbol >> 1) - 1); return symbol < 4 ? symbol + 1 : ((2 + (symbol & 1)) << extra) + 1 + bits(extra); };
  const written = () => {  // the two codes of a block that brings its own
    const literals = bits(5) + 257, distances = bits(5) + 1, own = new Array(19).fill(0), lengths = [];
    for (let i = 0, n = bits(4) + 4; i < n; i++) own[ORDER[i]] = bits(3);
    const short = code(own);
    while (lengths.length < literals + distances) {
      const symbol = decode(short);
      if (symbol < 16) lengths.push(symbol);
      else for (let again = symbol === 16 ? lengths[lengths.length - 1] : 0, n = symbol === 16 ? 3 + bits(2) : symbol === 17 ? 3 + bits(3) : 11 + bits(7); n > 0; n--) lengths.push(again);
    }
    return [code(lengths.slice(0, literals)), code(lengths.slice(literals))];
  };
  for (let last = 0; !last;) {
    last = bits(1);
    const kind = bits(2);
    if (kind === 0) {  // as it is
      held = holds = 0;
      const n = source[at] | (source[at + 1] << 8);
      at += 4;
      out.set(source.subarray(at, at + n), end);
      at += n; end += n;
      continue;
    }
    const fixed = () => [code([...new Array(144).fill(8), ...new Array(112).fill(9), ...new Array(24).fill(7), ...new Array(8).fill(8)]), code(new Array(30).fill(5))];
    const [literal, far] = kind === 1 ? fixed() : written();
    for (let symbol = decode(literal); symbol !== 256; symbol = decode(literal)) {
      if (symbol < 256) { out[end++] = symbol; continue; }
      const n = LENGTHS[symbol - 257] + bits(EXTRA[symbol - 257]), back = distance(decode(far));
      for (let stop = end + n; end < stop; end++) out[end] = out[end - back];
    }
  }
  return new TextDecoder().decode(out);
};
