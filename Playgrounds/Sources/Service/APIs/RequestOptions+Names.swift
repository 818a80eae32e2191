// SPDX-License-Identifier: Apache-2.0

import Lastro
import LastroObservability

extension RequestOptions {
  /// Returns options with the names that metrics and logs use for a call.
  static func named(_ operation: String, _ template: String) -> Self {
    var options = RequestOptions()
    options.operation = operation
    options.urlTemplate = template
    return options
  }
}
