// SPDX-License-Identifier: Apache-2.0

internal import Lastro

extension HAR.Entry {
  /// The approximate size in a file: the bytes of the texts as JSON, plus constants for the rest.
  package var keptBytes: Int {
    let cookies = request.cookies + response.cookies
    let fields = request.headers + request.queryString + response.headers
    var texts: [String?] = [
      request.url, request.postData?.text, request.postData?.mimeType, response.statusText, response.redirectURL,
      response.content.text, response.content.mimeType, error?.message, error?.hint, operation,
    ]
    for cookie in cookies { texts += [cookie.name, cookie.value, cookie.path, cookie.domain] }
    for field in fields { texts += [field.name, field.value] }
    return texts.reduce(2048 + 96 * fields.count + 192 * cookies.count) { $0 + Self.size($1 ?? "") }
  }

  /// Returns the number of bytes of a string in JSON.
  private static func size(_ text: String) -> Int {
    text.utf8.reduce(0) { count, byte in
      switch byte {
      case UInt8(ascii: "\""), UInt8(ascii: "\\"), 0x08...0x0A, 0x0C, 0x0D: count + 2
      case ..<0x20: count + 6
      default: count + 1
      }
    }
  }
}
