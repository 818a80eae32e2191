// SPDX-License-Identifier: Apache-2.0

// `LastroReaders READER` reads frames from its standard input, each `ARGUMENT LENGTH LF BYTES`, and writes a line of
// JSON for each. The argument is the request's method for `heads` and the boundary for `multipart`.

let input = Standard.input()[...]
var rest = input
var lines: [UInt8] = []
let reader = CommandLine.arguments.dropFirst().first ?? ""
while let feed = rest.firstIndex(of: 0x0A) {
  let words = rest[..<feed].split(separator: 0x20)
  guard words.count == 2, let length = Int(String(decoding: words[1], as: UTF8.self)) else {
    Standard.fail("a frame begins with ARGUMENT LENGTH")
  }
  let argument = String(decoding: words[0], as: UTF8.self)
  let bytes = rest[(feed + 1)...].prefix(length)
  rest = rest[bytes.endIndex...]
  let text =
    switch reader {
    case "heads": Reading.response(bytes, argument)
    case "events": Reading.events(bytes)
    case "multipart": Reading.parts(bytes, argument)
    case "cookies": Reading.cookie(bytes)
    case "cache": Reading.cacheControl(bytes)
    default: Standard.fail("usage: LastroReaders heads|events|multipart|cookies|cache")
    }
  lines += text.bytes
  lines.append(0x0A)
}
Standard.output(lines)
