// SPDX-License-Identifier: Apache-2.0

/// The reason why a text cannot be a host. The caller converts it to a configuration or request error.
package struct HostProblem: Error, Hashable {
  package var message: String
  package var hint: String?

  package init(_ message: String, hint: String? = nil) {
    self.message = message
    self.hint = hint
  }
}
