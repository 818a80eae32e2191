// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import LastroEveryday

/// The output of `lastro events` for an event.
struct EventLine: Encodable {
  private var data: String
  private var event: String
  private var id: String

  init(_ event: ServerSentEvent) {
    (data, self.event, id) = (event.data, event.name, event.lastEventID)
  }

  /// The event as one line of JSON with sorted keys.
  var text: String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    guard let line = try? encoder.encode(self) else { return "{}" }
    return String(decoding: line, as: UTF8.self)
  }
}
