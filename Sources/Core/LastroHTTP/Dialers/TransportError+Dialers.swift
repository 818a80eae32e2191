// SPDX-License-Identifier: Apache-2.0

package import Lastro

extension TransportError {
  /// Creates the error of an engine that could not be opened for lack of threads or descriptors.
  package init(_ error: ConfigurationError) {
    self.init(stage: .request, code: .engineFailure, message: error.message, hint: error.hint)
  }
}
