// SPDX-License-Identifier: Apache-2.0

package import HTTPTypes

extension HTTPResponse {
  /// The status code. Reading it from ``status`` would copy the reason phrase.
  package var statusCode: Int {
    pseudoHeaderFields.status.value.utf8.withContiguousStorageIfAvailable { $0.reduce(0) { $0 * 10 + Int($1) - 48 } }
      ?? status.code
  }

  /// Whether the response is a redirect (RFC 9110 §15.4): it has a redirect status and a `Location`.
  package var isRedirect: Bool {
    switch statusCode {
    case 300, 301, 302, 303, 307, 308: headerFields.contains(.location)
    default: false
    }
  }
}
