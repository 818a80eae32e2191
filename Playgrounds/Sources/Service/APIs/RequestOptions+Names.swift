// SPDX-License-Identifier: Apache-2.0

import Lastro
import LastroObservability

extension RequestOptions {
  /// The names by which metrics and logs know a call.
  static func named(_ operation: String, _ template: String) -> Self {
    var options = RequestOptions()
    options.operation = operation
    options.urlTemplate = template
    return options
  }
}
