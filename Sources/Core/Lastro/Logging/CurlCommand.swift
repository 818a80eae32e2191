// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes

/// Renders a request as a `curl` command line, for logs and for manual tests.
package enum CurlCommand {
  /// Returns a request on one line, quoted for `bash`, `zsh` and other shells that support `$'…'`.
  ///
  /// - Parameters:
  ///   - request: the request.
  ///   - redaction: the rules for masking. A masked command must be completed before it works.
  ///   - maximumBodyBytes: the maximum number of bytes of a body in memory to show. For a larger body, for one that is
  ///     not text, and for a stream, the command reads standard input: `--data-binary @-`.
  package static func render(
    _ request: ResourceRequest, redaction: Redaction = .standard, maximumBodyBytes: Int = 4096
  ) -> String {
    let redaction = redaction.adding(request)
    let url = redaction.url(request.url)
    var words = ["curl"]
    // By default, curl treats brackets and braces as patterns, and resolves dot segments.
    if url.contains(where: { "[]{}".contains($0) }) { words.append("--globoff") }
    if url.contains("/.") { words.append("--path-as-is") }
    switch request.head.method {
    case .get where request.body.isEmpty: break
    case .head: words.append("--head")
    default: words += ["-X", quoted(request.head.method.rawValue)]
    }
    words.append(quoted(url))
    for field in request.head.headerFields.withOneCookieField {
      let value = redaction.value(of: field)
      words += ["-H", quoted(value.isEmpty ? "\(field.name.rawName);" : "\(field.name.rawName): \(value)")]
    }
    if !request.body.isEmpty {
      if request.head.headerFields[.contentType] == nil {
        // Without an explicit field, curl would add its own `Content-Type`.
        words += ["-H", quoted("Content-Type:" + (request.body.contentType.map { " " + redaction.text($0) } ?? ""))]
      }
      words += bodyWords(request.body, redaction, limit: maximumBodyBytes)
    }
    return words.joined(separator: " ")
  }

  private static func bodyWords(_ body: RequestBody, _ redaction: Redaction, limit: Int) -> [String] {
    switch body.source {
    case .empty: return []
    case .bytes(let data):
      guard data.count <= limit, let text = String(validating: data, as: UTF8.self), !text.utf8.contains(0) else {
        return ["--data-binary", "@-"]
      }
      return ["--data-raw", quoted(redaction.text(text))]
    case .file(let path, _): return ["--data-binary", quoted("@" + redaction.secretsMasked(in: path))]
    case .stream: return ["--data-binary", "@-"]
    }
  }

  /// Returns a text as one word for the shell: unchanged if it has no special characters, otherwise in single quotes,
  /// or in `$'…'` if it has control characters.
  static func quoted(_ word: String) -> String {
    let plain = ByteSet("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._/:@%+,=")
    if !word.isEmpty, word.utf8.allSatisfy(plain.contains) { return word }
    guard word.unicodeScalars.contains(where: \.isControl) else {
      return "'" + word.replacing("'", with: "'\\''") + "'"
    }
    var result = "$'"
    for scalar in word.unicodeScalars {
      switch scalar {
      case "'", "\\": result += "\\\(scalar)"
      case "\n": result += "\\n"
      case "\r": result += "\\r"
      case "\t": result += "\\t"
      // Use three octal digits, so that a following digit is not read as part of the escape.
      case _ where scalar.isControl:
        for byte in String(scalar).utf8 {
          let digits = String(byte, radix: 8)
          result += "\\" + String(repeating: "0", count: 3 - digits.count) + digits
        }
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result + "'"
  }
}
