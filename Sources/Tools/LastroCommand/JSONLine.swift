// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials

extension Encodable {
  /// The value as one line of JSON with sorted keys; `{}` for a number that JSON does not have.
  var jsonLine: String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    guard let data = try? encoder.encode(self) else { return "{}" }
    return String(decoding: data, as: UTF8.self)
  }
}
