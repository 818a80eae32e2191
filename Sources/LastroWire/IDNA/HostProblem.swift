// SPDX-License-Identifier: Apache-2.0

/// Why a text cannot be a host. The caller turns it into the error of a configuration or of a request.
package struct HostProblem: Error, Hashable {
  package var message: String
  package var hint: String?

  package init(_ message: String, hint: String? = nil) {
    self.message = message
    self.hint = hint
  }
}
