// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import LastroEvents

/// What `lastro events` prints of an event.
struct EventLine: Encodable {
  private var data: String
  private var event: String
  private var id: String

  init(_ event: ServerSentEvent) {
    (data, self.event, id) = (event.data, event.name, event.lastEventID)
  }

  /// One line, its keys in order.
  var text: String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    guard let line = try? encoder.encode(self) else { return "{}" }
    return String(decoding: line, as: UTF8.self)
  }
}
