// SPDX-License-Identifier: Apache-2.0

package import HTTPTypes

extension HTTPResponse {
  /// Whether it leads elsewhere (RFC 9110 §15.4): a status that redirects, and a `Location`.
  package var isRedirect: Bool {
    switch status.code {
    case 300, 301, 302, 303, 307, 308: headerFields.contains(.location)
    default: false
    }
  }
}
