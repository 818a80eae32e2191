// SPDX-License-Identifier: Apache-2.0

/// Why a text is no host. Whoever asked makes a configuration's or a request's error of it.
package struct HostProblem: Error, Hashable {
  package var message: String
  package var hint: String?

  init(_ message: String, hint: String? = nil) {
    self.message = message
    self.hint = hint
  }
}
