// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials

extension Encodable {
  /// Returns the value as JSON with its members sorted. Default: on one line.
  ///
  /// The value must consist of strings, finite numbers and Booleans, with which encoding cannot fail.
  func jsonText(_ formatting: JSONEncoder.OutputFormatting = []) -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = formatting.union([.sortedKeys, .withoutEscapingSlashes])
    return (try? encoder.encode(self)).map { String(decoding: $0, as: UTF8.self) } ?? "{}"
  }
}
