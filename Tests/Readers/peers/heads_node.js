// SPDX-License-Identifier: Apache-2.0
// Responses, read by Node's llhttp, as its http client sets it up.
'use strict';
process.removeAllListeners('warning');
process.noDeprecation = true;
const { HTTPParser } = process.binding('http_parser');
const [onHeaders, onHeadersComplete, onBody, onComplete] =
  [HTTPParser.kOnHeaders, HTTPParser.kOnHeadersComplete, HTTPParser.kOnBody, HTTPParser.kOnMessageComplete];

// The strings of llhttp are Latin 1; Lastro reads UTF-8 first.
function text(value) {
  const bytes = Buffer.from(value, 'latin1');
  return (bytes.equals(Buffer.from(bytes.toString('utf8'), 'utf8')) ? bytes : Buffer.from(value, 'utf8')).toString('latin1');
}

function pairs(raw) {
  const result = [];
  for (let i = 0; i < raw.length; i += 2) result.push([text(raw[i]).toLowerCase(), text(raw[i + 1])]);
  return result;
}

function read(method, data) {
  const parser = new HTTPParser();
  parser.initialize(HTTPParser.RESPONSE, {}, 1 << 18, 0);
  let head = null, headers = [], done = false, isInterim = false;
  const body = [];
  parser[onHeaders] = (raw) => { headers.push(...raw); };
  parser[onHeadersComplete] = (major, minor, raw, m, url, status, reason, upgrade, keeps) => {
    isInterim = status >= 100 && status < 200 && status !== 101;
    if (isInterim) { headers = []; return 1; }
    head = { version: `${major}.${minor}`, status, reason: text(reason), fields: pairs(raw ? headers.concat(raw) : headers),
      body: '', trailers: [], rest: 0, keeps };
    headers = [];
    return method === 'HEAD' ? 1 : 0;
  };
  parser[onBody] = (chunk, offset, length) => {
    body.push(offset === undefined ? Buffer.from(chunk) : Buffer.from(chunk.subarray(offset, offset + length)));
  };
  parser[onComplete] = () => { if (!isInterim) done = true; };
  let at = 0;
  for (; at < data.length && !done; at++) {
    const result = parser.execute(data.subarray(at, at + 1));
    if (result instanceof Error) return { no: `${result.code} ${result.reason}` };
  }
  if (!done) {
    const result = parser.finish();
    if (result instanceof Error) return { no: `${result.code} ${result.reason}` };
    if (!done) return { no: 'incomplete' };
  }
  head.body = Buffer.concat(body).toString('latin1');
  head.trailers = pairs(headers);
  head.rest = data.length - at;
  return head;
}

const data = require('fs').readFileSync(0);
const lines = [];
for (let at = 0; at < data.length;) {
  const end = data.indexOf(10, at);
  const [argument, length] = data.toString('latin1', at, end).split(' ');
  at = end + 1 + Number(length);
  lines.push(JSON.stringify(read(argument, data.subarray(end + 1, at))));
}
require('fs').writeFileSync(1, lines.join('\n') + '\n');
